// The data of the wire protocol.
import type { InitOptions, Source } from './public';

export interface Field {
  name: string;
  label: string;
  type: string;
  required: boolean;
  options: (string | { value: string; label: string })[] | null;
  /** What the visitor has said of it. */
  value?: string | number | boolean;
}
export interface FormDefinition {
  fields: Field[];
  consent: { version: string; text: string; required: boolean } | null;
}
/** The published configuration of an agent. */
export interface Config {
  title: string;
  subtitle: string | null;
  avatar: string | null;
  color: string | null;
  position: InitOptions['position'] | null;
  theme: InitOptions['theme'] | null;
  greeting: string | null;
  suggestions: string[];
  teaser: { text: string; delayMs?: number } | null;
  disclosure: string | null;
  privacyUrl: string | null;
  footer: string | null;
  prechat: FormDefinition | null;
  feedback: boolean;
  uploads: boolean;
  limits: { messageChars: number; uploadBytes: number; uploadTypes: string[]; imageHosts: string[]; linkHosts?: string[] | null };
  locale: string;
  strings: Record<string, string>;
}
export interface Upload {
  id: string;
  name: string;
}
/** A stored message. */
export interface Message {
  id: string;
  seq: number;
  role: 'visitor' | 'agent' | 'human';
  text: string;
  state: 'complete' | 'stopped' | 'incomplete';
  sources: Source[];
  uploads: Upload[];
  feedback: -1 | 0 | 1;
  at: string;
  /** The name of the person who wrote it. */
  name?: string;
}
/** A person joined or left, or the operator closed the conversation. */
export interface PersonChange {
  /** Number of the last message before it. */
  after: number;
  change: 'joined' | 'left' | 'closed';
  name: string | null;
  at: string;
}
export interface Session {
  conversation: string;
  token: string;
  mode: 'ai' | 'human';
  identity?: string;
}
/** The values of a submitted form. */
export interface Lead {
  fields: Record<string, unknown>;
  consent: { version: string; at: string } | null;
}
/** A rejected call or, with status 0, one without a response. */
export interface Failure {
  _code: string;
  _message: string;
  _status: number;
  _details: Record<string, unknown>;
  /** Seconds after which the server allows a retry. */
  _after: number;
  /** Validation errors by field. */
  _fields: { field: string; type: string; message: string }[];
}

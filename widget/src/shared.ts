// The interface between the layers and between the two scripts: the functions of upper layers that lower layers call, the
// state and functions that the second script receives, and the parts that it returns. `register.ts` sets `shared`.
import type { EventMap, SendResult, Source } from './public';
import type { Failure, FormDefinition, Lead, Message, Upload } from './protocol';
import type { emit, S, say, sleep, t, Turn } from './state';
import type { ask, request } from './wire/call';
import type { describePage } from './wire/page';
import type { adopt, V } from './wire/visit';

export interface Shared {
  _S: typeof S;
  _V: typeof V;
  _t: typeof t;
  _emit: typeof emit;
  _say: typeof say;
  _sleep: typeof sleep;
  _ask: typeof ask;
  _request: typeof request;
  _describePage: typeof describePage;
  _adopt: typeof adopt;
  /** Shows a line in the log and announces it to screen readers. */
  _announce: (text: string) => void;
  _showAlert: (text: string) => void;
  _dropForm: () => void;
  _isReading: () => boolean;
  _focus: () => void;
  _clear: (turn?: Turn) => void;
  _renew: () => void;
  _sendTurn: (text: string, uploads: Upload[], lead?: Lead, honeypot?: string) => Promise<SendResult>;
  // For lower layers of the first script only.
  _followTurn: (id: string) => void;
  _submit: (text: string, uploads: Upload[]) => Promise<SendResult>;
  _toggle: (byVisitor: unknown) => void;
  _history: () => Promise<void>;
  /** Runs a change of the log and keeps its scroll position. */
  _prepend: (change: () => void) => void;
  /** The second script could not be loaded. */
  _loadFailed: () => void;
}
export let shared: Shared;
export const register = (all: Shared): void => {
  shared = all;
};

/**
 * Renders a text in place of the previous one; `soon` defers it to the next frame. With sources, citations become links,
 * and the sources are listed below.
 */
export type Render = (text: string, soon?: boolean, sources?: Source[]) => void;
/** A file of the message in the composer; `_upload` is absent until the upload is complete. */
export interface Attachment {
  _element: HTMLElement;
  _upload?: Upload;
  _control: AbortController;
}
export interface Files {
  _all: () => Attachment[];
  _clear: () => void;
  _restore: (uploads: Upload[]) => void;
  _label: (blocked: boolean) => void;
}
/** The parts of the second script. */
export interface More {
  _arrived: (label: () => void) => void;
  _style: string;
  _strings: object;
  _avatar: (src?: string) => HTMLElement | false;
  _text: (element: HTMLElement, around: (change: () => void) => void) => Render;
  _readOut: (text: string) => Promise<void>;
  _addFeedback: (foot: HTMLElement, message: Message) => void;
  _files: (input: HTMLElement, changed: () => void) => Files;
  _listFiles: (foot: HTMLElement, uploads: Upload[]) => void;
  _confirmNew: (composer: HTMLElement) => void;
  _firstForm: (definition: FormDefinition) => HTMLElement;
  _leadForm: (definition: FormDefinition) => HTMLElement;
  _solve: (failure: Failure) => Promise<object>;
  _showDots: (dots: HTMLElement, kind?: string | false) => void;
  _takeDocument: (response: Response, take: (name: string, data: never) => boolean) => Promise<boolean>;
  _wrapFocus: (panel: HTMLElement, event: KeyboardEvent) => void;
  _countDown: (seconds: number, alert: HTMLElement, changed: () => void) => Promise<void>;
  _handedOff: (to: EventMap['handoff']) => void;
  _queued: () => void;
  _beep: () => void;
  _soundButton: (changed: () => void) => HTMLElement | undefined;
}

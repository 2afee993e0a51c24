// Functions of upper layers that lower layers call; `main.ts` sets them.
import type { Lead, Upload } from '../protocol';
import type { SendResult } from '../public';
import type { Turn } from '../state';

export const up = {} as {
  _submit: (text: string, uploads: Upload[]) => Promise<SendResult>;
  _sendTurn: (text: string, uploads: Upload[], lead?: Lead, honeypot?: string) => Promise<SendResult>;
  _history: () => Promise<void>;
  _sync: () => Promise<void>;
  _poll: (ms: number) => void;
  _focus: () => void;
  _followTurn: (id: string) => void;
  /** Closes the conversation and starts another one. */
  _renew: () => void;
  _clear: (turn?: Turn) => void;
  _dropForm: () => void;
  _isReading: () => boolean;
  _showAlert: (text: string) => void;
};

// The interface between the two scripts: what the second one receives, and the parts that it returns.
import type { avatar } from './images';
import type { Failure } from './protocol';
import type { SendResult } from './public';
import type { agentName, emit, on, pick, S, say, sleep, t } from './state';
import type { ask, report, request } from './wire/call';
import type { adopt, forget, leave, restore, save, V } from './wire/visit';

/** The functions of the first script. */
export interface Shared {
  _S: typeof S;
  _V: typeof V;
  _t: typeof t;
  _pick: typeof pick;
  _agentName: typeof agentName;
  _emit: typeof emit;
  _on: typeof on;
  _say: typeof say;
  _sleep: typeof sleep;
  _ask: typeof ask;
  _request: typeof request;
  _report: typeof report;
  _avatar: typeof avatar;
  _adopt: typeof adopt;
  _save: typeof save;
  _leave: typeof leave;
  _forget: typeof forget;
  _restore: typeof restore;
  _isOpen: () => boolean;
  _isSmall: () => boolean;
  _unread: () => number;
  _setUnread: (count: number) => void;
  /** Shows an unread message next to the launcher. */
  _preview: (who: string, text: string) => void;
  _toggle: (byVisitor: unknown) => void;
  _shutButton: (text: string, click: (byVisitor: unknown) => void) => HTMLElement;
  /** Creates the panel's shell, or returns the existing one. */
  _startPanel: () => HTMLElement;
  _resumed: () => void;
  _handleRejection: (failure: Failure) => boolean;
}

/** The parts of the second script. */
export interface More {
  _style: string;
  _strings: object;
  /** A widget starts: resets all state. */
  _start: () => void;
  /** The panel has opened; `byVisitor` moves the focus into it. */
  _opened: (byVisitor: unknown) => void;
  _label: () => void;
  _fit: () => void;
  _keyDown: (event: KeyboardEvent) => void;
  _focus: () => void;
  /** Sends what is in the text field. */
  _enter: () => void;
  _send: (text: string) => Promise<SendResult>;
  /** Ends the conversation. */
  _reset: () => void;
  _markRead: () => void;
  _sync: () => Promise<void>;
  /** Ends the stream until `_wake`. */
  _pause: () => void;
  _wake: () => void;
  _drop: () => void;
  _block: () => void;
}

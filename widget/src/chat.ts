// The actions of the page and the visitor: open, close, send, end a conversation.
import { pauseTurns, sendTurn, startTurns, wakeTurns } from './turns';
import type { Message } from './protocol';
import type { SendResult } from './public';
import { build, built, first, focus, label, markRead, restart, resumed, startConversation } from './conversation';
import { problem, resetComposer } from './view/composer';
import { ask } from './wire/call';
import { forget, leave, startVisit, V } from './wire/visit';
import { startLater, withMore } from './later';
import { dropTurn } from './wire/turn';
import { toEnd } from './view/log';
import { closeFrame, isOpen, openFrame, showTeaser, startFrame } from './view/frame';
import { arrive, startSync, stopPolling, sync } from './sync';
import { startReplies } from './replies';
import { emit, on, S } from './state';

export const submit = async (text: string, uploads: Message['uploads']): Promise<SendResult> => {
  build();
  const code = problem(text) || (!text && !uploads[0] ? 'VALIDATION_ERROR' : first ? 'FORM_REQUIRED' : '');
  if (first) S._held = text;
  return code ? { ok: false, code } : sendTurn(text, uploads);
};
export const sendText = (text: unknown): Promise<SendResult> => submit(('' + text).normalize().trim(), []);

/** `byVisitor` is truthy if the visitor caused it; only then does the focus move. */
export const openChat = (byVisitor: unknown): void => {
  if (S._rejected) return;
  if (isOpen()) return byVisitor ? focus() : undefined;
  build();
  openFrame(byVisitor);
  toEnd();
  emit('open', {});
  markRead();
  void arrive();
};
export const closeChat = (): void => {
  if (!isOpen() || S._options.mode == 'inline') return;
  closeFrame();
  emit('close', {});
};
/** For a log-out: closes the conversation and forgets the visitor. */
export const resetChat = (): void => {
  end();
  S._options.user = undefined;
  forget();
  if (built) resetComposer();
  restart();
};
export const toggle = (byVisitor: unknown): void => (isOpen() ? closeChat() : openChat(byVisitor));
/** Ends the conversation and starts another one. */
export const renew = (): void => {
  end();
  leave();
  restart();
};
const end = () => {
  if (V.token) ask('close', { token: V.token }).catch(() => {});
};
/** The configuration has arrived. */
export const configured = (): void => {
  resumed();
  void (isOpen() ? arrive() : sync());
  void showTeaser();
};

export const startChat = (): void => {
  startConversation();
  startVisit();
  startLater();
  startSync();
  startReplies();
  startFrame();
  startTurns();
  withMore((more) => more._arrived(label));
  if (isOpen()) build();
  on(window, 'pagehide', () => {
    stopPolling();
    pauseTurns();
  });
  on(window, 'pageshow', (event: PageTransitionEvent) => {
    wakeTurns();
    if (event.persisted) void sync();
  });
  on(window, 'online', sync);
  on(document, 'visibilitychange', () => {
    if (document.hidden) return;
    markRead();
    void sync();
  });
  S._signal.addEventListener('abort', () => {
    dropTurn();
    startLater();
  });
};

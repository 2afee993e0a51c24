// The actions of the page and the visitor: open, close, send, end a conversation.
import { closeFrame, frame, frameFailed, isOpen, isSmall, openFrame, preview, setUnread, showTeaser, shutButton, startFrame, startPanel, unread } from './frame';
import { show } from './dom';
import { avatar } from './images';
import { load, more, prepareLater, startLater, withMore } from './later';
import { logError } from './name';
import type { Failure } from './protocol';
import type { SendResult } from './public';
import type { Shared } from './shared';
import { agentName, emit, on, pick, S, say, sleep, t } from './state';
import { ask, report, request } from './wire/call';
import { adopt, forget, leave, restore, save, startVisit, V } from './wire/visit';

/** Changes with each log-out, which drops messages that still wait for the second script. */
let visitor = {};
/** Resolves once the message is stored. */
export const sendText = (text: unknown): Promise<SendResult> =>
  new Promise((resolve) => {
    const by = visitor;
    void load();
    withMore((more) => (by == visitor ? void more._send(('' + text).normalize().trim()).then(resolve) : resolve({ ok: false, code: 'DROPPED' })));
  });

/** `byVisitor` is truthy if the visitor caused it; only then does the focus move. */
export const openChat = (byVisitor: unknown): void => {
  if (S._rejected) return;
  if (isOpen()) return byVisitor ? withMore((more) => more._focus()) : undefined;
  void load();
  startPanel();
  openFrame(byVisitor);
  emit('open', {});
  withMore((more) => isOpen() && more._opened(byVisitor));
};
export const closeChat = (): void => {
  if (!isOpen() || S._options.mode == 'inline') return;
  closeFrame();
  emit('close', {});
};
export const toggle = (byVisitor: unknown): void => (isOpen() ? closeChat() : openChat(byVisitor));
/** For a log-out: closes the conversation and forgets the visitor. */
export const resetChat = (): void => {
  if (V.token) ask('close', { token: V.token }).catch(() => {});
  S._options.user = undefined;
  forget();
  setUnread(0);
  visitor = {};
  if (S._panel) S._input.value = '';
  more?._reset();
};
export const hide = (is: boolean): void => {
  S._hidden = is || !!S._rejected;
  show(frame, !S._hidden);
  more?._markRead();
};
/** Emits the event of a conversation that existed before. */
const resumed = (): void => {
  if (V.conversation) emit('conversation', { id: V.conversation, isNew: false });
};
/** Fetches what is new, if there is a conversation. */
export const sync = (): void => {
  // Another tab may have started a conversation, or consent gives access to a stored one.
  if (!more && restore()) resumed();
  if (!more && !V.conversation) return;
  void load();
  withMore((more) => void more._sync());
};
/** Handles failures that have the same meaning for every call; true if this was one. */
export const handleRejection = ({ _code, _message, _details }: Failure): boolean => {
  const { agentId } = S._options;
  // ORIGIN_NOT_ALLOWED, AGENT_NOT_AVAILABLE
  if (/[NT]_NOT_A/.test(_code)) {
    S._rejected = _code;
    // A slow configuration may be rejected after the panel has opened.
    closeChat();
    hide(true);
    const origin = _details.origin || location.origin;
    logError(
      /^O/.test(_code)
        ? origin == 'null'
          ? `the page is in a sandboxed frame, whose origin no agent can allow; give the frame allow-same-origin`
          : `origin ${origin} is not allowed for agent ${agentId}; add it to the agent's allowed origins`
        : `agent ${agentId}: ${_message}`,
    );
  } else if (_code == 'VISITOR_BLOCKED') withMore((more) => more._block());
  else return false;
  return true;
};
/** The configuration has arrived. */
export const configured = (): void => {
  resumed();
  sync();
  void showTeaser();
};

const shared: Shared = {
  _S: S, _V: V, _t: t, _pick: pick, _agentName: agentName, _emit: emit, _on: on, _say: say, _sleep: sleep, _ask: ask, _request: request, _report: report,
  _avatar: avatar, _adopt: adopt, _save: save, _leave: leave, _forget: forget, _restore: restore, _isOpen: isOpen, _isSmall: isSmall,
  _unread: () => unread, _setUnread: setUnread, _preview: preview, _toggle: toggle, _resumed: resumed, _handleRejection: handleRejection,
  _shutButton: shutButton, _startPanel: startPanel,
};
prepareLater(shared, frameFailed);

export const startChat = (): void => {
  S._hidden = false;
  startVisit();
  startLater();
  startFrame(toggle, sendText);
  withMore((more) => more._start());
  if (isOpen()) {
    startPanel();
    void load();
    withMore((more) => more._opened(0));
  }
  on(window, 'pagehide', () => more?._pause());
  on(window, 'pageshow', (event: PageTransitionEvent) => {
    more?._wake();
    if (event.persisted) sync();
  });
  on(window, 'online', sync);
  on(document, 'visibilitychange', () => {
    if (!document.hidden) sync();
  });
  S._signal.addEventListener('abort', () => {
    more?._drop();
    startLater();
  });
};

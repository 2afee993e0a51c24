// Turns: sends a message and streams its reply; a cut connection resumes.
import type { Failure, Lead, Message, Session, Upload } from '../protocol';
import type { EventMap, SendResult } from '../public';
import type { Turn } from '../state';
import { asFailure, backOff, CUT, isTransient, TRIES } from '../wire/failure';
import { solution } from './challenge';
import { add, clear, offerForm, refreshPeople } from './conversation';
import { takeDocument } from './document';
import { draft, suggest, typing } from './log';
import { describePage, uuid } from './page';
import { acked, failed, idle, setOffline, started } from './replies';
import { adopt, emit, forget, handleRejection, report, request, S, sleep, V } from './shared';
import { eventStream } from './sse';
import { active, cancelTurn, setActive } from './turn';

const SILENT_MS = 10000;
const STALLED_MS = 45000;

let text: string;
let outcome: string | undefined;
let asleep: (() => void) | true | undefined;
// Turns of this page view without early events: a proxy buffers the stream.
let silent = 0;

export const startTurns = (): void => {
  asleep = undefined;
  setActive();
};

/** Processes one event; true at the end of the turn. */
const take = (turn: Turn, name: string, data: never): boolean => {
  const { text: more, code, message, retryable } = data as Message & EventMap['error'];
  if (name == 'session') {
    if (adopt(data as Session)) clear(turn);
    refreshPeople();
    if (turn._stopped) cancelTurn(turn);
  } else if (name == 'ack') {
    acked(turn, data);
    turn._settle({ ok: true, id: (data as Message).id });
  } else if (name == 'status') typing((data as { kind: string }).kind);
  else if (name == 'delta') draft((text += more));
  else if (name == 'replace') draft((text = more));
  else if (name == 'message') {
    text = '';
    add(data);
  } else if (name == 'suggestions') suggest((data as { items: string[] }).items);
  else if (name == 'form') offerForm(data);
  else if (name == 'handoff') {
    S._human = true;
    emit('handoff', { name: (data as EventMap['handoff']).name });
    refreshPeople();
  } else if (name == 'error') {
    emit('error', { code, message, retryable });
    turn._settle({ ok: false, code });
    failed(turn, retryable ? () => again(turn) : undefined);
    return true;
  } else if (name == 'done') {
    outcome = (data as { outcome: string }).outcome;
    return true;
  }
  return false;
};

/** One request and its stream; true at the end of the turn, false after a cut. */
const attempt = async (turn: Turn, challenge: object | null): Promise<boolean> => {
  const own = (turn._control = new AbortController());
  const abort = () => own.abort();
  const { _options, _locale } = S;
  let watch = setTimeout(() => {
    if (!turn._silent) silent++;
    turn._silent = true;
    watch = setTimeout(abort, STALLED_MS * 2);
  }, SILENT_MS);
  const resume = turn._last || turn._foreign;
  const asDocument = silent > 1 && !resume;
  try {
    const response = await request(
      resume ? 'turns/resume' : 'turns',
      resume
        ? { token: V.token, turn: turn._id, after: turn._last }
        : {
            v: 1,
            agentId: _options.agentId,
            id: turn._id,
            token: V.token || null,
            text: turn._text,
            uploads: turn._uploads.map((upload) => upload.id),
            lead: turn._lead || null,
            user: _options.user || null,
            page: describePage(),
            locale: _locale,
            tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
            metadata: _options.metadata || {},
            persist: _options.persist || 'local',
            challenge,
            hp: turn._honeypot,
          },
      own.signal,
      asDocument,
    );
    setOffline(false);
    let end = false;
    if (asDocument) return await takeDocument(response, (name, data) => take(turn, name, data));
    const feed = eventStream((name, body, id) => {
      const n = +id.slice(id.lastIndexOf('.') + 1);
      if (end || n <= turn._last || own.signal.aborted) return;
      turn._last = n;
      end = take(turn, name, JSON.parse(body) as never);
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    while (!end) {
      const { done, value } = await reader.read();
      clearTimeout(watch);
      if (done) break;
      watch = setTimeout(abort, STALLED_MS);
      feed(value);
    }
    return end;
  } finally {
    clearTimeout(watch);
    abort();
  }
};

/** Handles a rejection: true ends the turn; a solved challenge or null retries it. */
const settle = async (turn: Turn, failure: Failure, first: boolean): Promise<true | object | null> => {
  const { _code, _status } = failure;
  if (first && !turn._foreign) {
    turn._last = 0;
    text = '';
    if (_code == 'TURN_NOT_FOUND') return null;
    if (_code == 'TOKEN_INVALID') {
      forget();
      clear(turn);
      return null;
    }
    const found = await solution(failure);
    if (found) return found;
  }
  report(failure, isTransient(failure));
  turn._settle({ ok: false, code: _code });
  // Other rejections concern the message: it returns to the composer with the reason.
  if (!handleRejection(failure) && !turn._foreign) failed(turn, () => again(turn), isTransient(failure) || /40[14]/.test('' + _status) ? undefined : failure);
  return true;
};

const drive = async (turn: Turn) => {
  const seen: Record<string, boolean> = {};
  let tries = 0;
  let challenge: object | null = null;
  setActive(turn);
  text = '';
  outcome = undefined;
  started(turn);
  while (active == turn) {
    if (asleep) await new Promise<void>((resolve) => (asleep = resolve));
    const { _last } = turn;
    const failure = await attempt(turn, challenge).then((end) => !end && CUT, asFailure);
    if (!failure) break;
    if (active != turn) return;
    if (asleep) continue;
    if (turn._last > _last) tries = 0;
    const { onLine } = navigator;
    const { _code, _status, _after } = failure;
    if (!isTransient(failure) || (tries >= TRIES && (_status || onLine))) {
      const next = await settle(turn, failure, !seen[_code]);
      seen[_code] = true;
      if (next === true) break;
      challenge = next;
    } else {
      if (!_status && (!onLine || tries > 1)) setOffline(true);
      await sleep(onLine ? Math.max(_after * 1000, backOff(tries++)) : 1 / 0, 'online');
    }
  }
  if (active != turn) return;
  setActive();
  setOffline(false);
  idle(outcome);
};

/** Retries under the same id. */
const again = (turn: Turn) => {
  if (active) return;
  turn._last = 0;
  void drive(turn);
};

export const sendTurn = (_text: string, _uploads: Upload[], _lead?: Lead, _honeypot = ''): Promise<SendResult> =>
  new Promise((_settle) => void drive({ _id: uuid(), _text, _uploads, _lead, _last: 0, _honeypot, _settle }));
export const followTurn = (_id: string): void => {
  if (!active) void drive({ _id, _text: '', _uploads: [], _last: 0, _honeypot: '', _foreign: true, _settle: () => {} });
};
/** Ends the stream until `wakeTurns`. */
export const pauseTurns = (): void => {
  asleep = true;
  active?._control?.abort();
};
export const wakeTurns = (): void => {
  const resume = asleep;
  asleep = undefined;
  if (typeof resume == 'function') resume();
};

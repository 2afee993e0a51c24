// The functions of the first script. Stateless modules are imported directly.
import type { Shared } from '../shared';

export let S: Shared['_S'];
export let V: Shared['_V'];
export let t: Shared['_t'];
export let pick: Shared['_pick'];
export let agentName: Shared['_agentName'];
export let emit: Shared['_emit'];
export let on: Shared['_on'];
export let say: Shared['_say'];
export let sleep: Shared['_sleep'];
export let ask: Shared['_ask'];
export let request: Shared['_request'];
export let report: Shared['_report'];
export let avatar: Shared['_avatar'];
export let adopt: Shared['_adopt'];
export let save: Shared['_save'];
export let leave: Shared['_leave'];
export let forget: Shared['_forget'];
export let restore: Shared['_restore'];
export let isOpen: Shared['_isOpen'];
export let isSmall: Shared['_isSmall'];
export let unread: Shared['_unread'];
export let setUnread: Shared['_setUnread'];
export let preview: Shared['_preview'];
export let toggle: Shared['_toggle'];
export let shutButton: Shared['_shutButton'];
export let startPanel: Shared['_startPanel'];
export let resumed: Shared['_resumed'];
export let handleRejection: Shared['_handleRejection'];

export const take = (shared: Shared): void => {
  ({
    _S: S, _V: V, _t: t, _pick: pick, _agentName: agentName, _emit: emit, _on: on, _say: say, _sleep: sleep, _ask: ask, _request: request, _report: report,
    _avatar: avatar, _adopt: adopt, _save: save, _leave: leave, _forget: forget, _restore: restore, _isOpen: isOpen, _isSmall: isSmall,
    _unread: unread, _setUnread: setUnread, _preview: preview, _toggle: toggle, _shutButton: shutButton, _startPanel: startPanel, _resumed: resumed, _handleRejection: handleRejection,
  } = shared);
};

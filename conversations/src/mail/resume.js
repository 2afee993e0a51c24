// Exchanges the token of an e-mail for the session of the widget, when the visitor asks for it.
(() => {
  const main = document.querySelector('main');
  const button = main.querySelector('button');
  const { agent, key, chat } = main.dataset;
  const link = location.hash.slice(1);
  const show = (state) => {
    for (const it of main.querySelectorAll('[data-when]')) it.hidden = it.dataset.when !== state;
  };
  const go = () => location.replace(chat);
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      // Without storage the widget could not continue, and the token would be used up.
      const known = localStorage.getItem(key);
      localStorage.setItem(key, known || '{"v":0}');
      const response = await fetch('/widget/v1/links', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ agentId: agent, link }),
      });
      if (response.status === 401) {
        // The same browser has used it before.
        if (known && JSON.parse(known).token) return go();
        button.hidden = true;
        return show('ended');
      }
      if (!response.ok) throw new Error(response.statusText);
      const { session } = (await response.json()).data;
      const { token, conversation } = session;
      localStorage.setItem(key, JSON.stringify({ v: 1, token, conversation, seq: 0, read: 0 }));
      go();
    } catch {
      button.disabled = false;
      show('failed');
    }
  });
})();

// A page in TypeScript that uses the widget: compiles against the committed declarations.
import type { InitOptions, Instance, SendResult } from '../../dist/embed';

const options: InitOptions = {
  agentId: '695b6f80de7378c4412112d3',
  color: '#0a7d33',
  launcher: { icon: 'help' },
  on: { reply: ({ text, sources }) => console.log(text, sources[0]?.url) },
  onError: ({ code, retryable }) => console.log(code, retryable),
};
window.ServiceWidgetConfig = { locale: 'de', strings: { open: 'Fragen?' } };
const instance: Instance = window.ServiceWidget.init(options);
const off: () => void = instance.on('message', ({ seq, role }) => console.log(seq, role));
const sent: Promise<SendResult> = instance.send('Hello');
void sent.then((result) => (result.ok ? result.id : result.code));
off();
ServiceWidget.update({ theme: 'dark', teaser: false });
console.log(instance.state.unread, ServiceWidget.instance?.state.open, ServiceWidget.version);
// @ts-expect-error an option that does not exist
window.ServiceWidget.init({ agentId: 'a', colour: '#fff' });
// @ts-expect-error an event that does not exist
instance.on('opened', () => {});
ServiceWidget.destroy();

// Markdown that tries to become something else. Strings are combined, so each trick is tested in each context.
const URLS = [
  'javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', 'java\nscript:alert(1)', 'java\0script:alert(1)', ' javascript:alert(1)',
  '\x01javascript:alert(1)', 'javascript&colon;alert(1)', 'javascript&#58;alert(1)', '&#106;avascript:alert(1)', 'javascript%3Aalert(1)',
  'data:text/html,<script>alert(1)</script>', 'data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==', 'data:image/svg+xml,<svg onload=alert(1)>',
  'vbscript:msgbox(1)', 'file:///etc/passwd', 'blob:https://example.com/1', 'about:blank', 'view-source:https://example.com', 'feed:javascript:alert(1)',
  'jar:https://example.com!/', 'ws://example.com', '//evil.example', '/\\evil.example', '\\\\evil.example', 'https:evil.example', 'http:/evil.example',
  'https://example.com" onclick="alert(1)', "https://example.com' onclick='alert(1)", 'https://example.com/`onload=alert(1)', 'https://example.com/>"<img src=x onerror=alert(1)>',
  'mailto:a@b.example?body=<script>', 'tel:+1"onclick=1', 'intent://example#Intent;end', 'ms-settings:', 'x-javascript:alert(1)',
];
const HTML = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg/onload=alert(1)>', '<iframe src="javascript:alert(1)">', '<a href="javascript:alert(1)">x</a>',
  '<math><mi//xlink:href="data:x,<script>alert(1)</script>">', '<body onload=alert(1)>', '<style>@import "x"</style>', '<link rel=stylesheet href=x>', '<base href="//evil.example">',
  '<meta http-equiv=refresh content="0;url=javascript:1">', '<object data="javascript:1">', '<embed src=x>', '<form action="javascript:1"><button>x', '<template><script>1</script></template>',
  '<!--><script>alert(1)</script>-->', '<![CDATA[<script>1</script>]]>', '<?xml version="1.0"?>', '&lt;script&gt;alert(1)&lt;/script&gt;', '</div></div><script>1</script>',
  '<details open ontoggle=alert(1)>', '<video><source onerror=alert(1)>', '<input autofocus onfocus=alert(1)>', '<noscript><p title="</noscript><img src=x onerror=1>">',
];
const CONTEXTS = {
  link: (url) => `[text](${url})`,
  angle: (url) => `[text](<${url}>)`,
  image: (url) => `![alt](${url})`,
  auto: (url) => `<${url}>`,
  titled: (url) => `[text](${url} "a title")`,
};
const BLOCKS = [(x) => x, (x) => `> ${x}`, (x) => `- ${x}`, (x) => `1. ${x}`, (x) => `# ${x}`, (x) => `| ${x} |\n|---|\n| ${x} |`, (x) => `**${x}**`];

export const attacks = [
  ...URLS.flatMap((url) => Object.values(CONTEXTS).map((context) => context(url))),
  ...HTML.flatMap((text) => BLOCKS.map((block) => block(text))),
  '[a](javascript:alert(1)//https://ok.example)', '[![x](javascript:1)](javascript:2)', '[a]( javascript:alert(1))', '[a](\\javascript:alert(1))', '[a](javascript\\:alert(1))',
  '[javascript:alert(1)](https://ok.example)', '[<img src=x onerror=1>](https://ok.example)', '`<script>`', '```html\n<script>alert(1)</script>\n```', '~~~\n</code></pre><script>1</script>\n~~~',
  '```"><script>alert(1)</script>\nx\n```', '![<script>](https://evil.example/a.png)', '![a](https://evil.example/track.gif)', '[a][b]\n\n[b]: javascript:alert(1)', '99999999999. x', '999999999. x\n1) y',
  '[1](javascript:1)', '[1][2][3]', '\\<script>', 'https://example.com/<script>', 'https://example.com/"onclick="x', '<https://example.com/"onclick=1>', '\u202ejavascript:alert(1)',
  '[a](https://ok.example/\u202egpj.exe)', '[\u0000](https://ok.example)', '[a](https://ok.example/\u0000)', '__proto__', '[__proto__](constructor)', '{{7*7}}', '${alert(1)}', '<%= 1 %>',
];

/**
 * The documentation page: fetches the document of whoever the bar names, and shows it. The credential stays in this module,
 * in memory: it goes into the Authorization header of requests to this server, and nowhere else.
 */
const form = document.getElementById('who');
const state = document.getElementById('state');
const main = 'main';

allowOwnStyles(document.querySelector('meta[property=csp-nonce]').content);

// The reference's validator would else try whether text may be run as code, which the policy of this page forbids.
globalThis.__zod_globalConfig = { jitless: true };
const ready = loaded('/docs/scalar.js');

let who = { application: main, token: '' };
let shown = null;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const given = new FormData(form);
  void show({ application: String(given.get('application')).trim() || main, token: String(given.get('token')).trim() });
});
if (parent === window) void show(who);
else askShell();

/** In a frame of the web interface, which this server sends too, whoever is signed in there is who asks. */
function askShell() {
  document.documentElement.toggleAttribute('data-framed', true);
  addEventListener('message', ({ origin, source, data }) => {
    if (origin !== location.origin || source !== parent || data?.type !== 'docs-who') return;
    void show({ application: String(data.application), token: String(data.token), role: data.role });
  });
  parent.postMessage({ type: 'docs-ready' }, location.origin);
}

/** Shows the document of an application and a credential; where it is refused the former one stays. */
async function show(asked) {
  say('Loading…');
  const response = await sent(new Request('/api/docs:openapi'), asked).catch(() => null);
  const body = await response?.json().catch(() => null);
  if (!response?.ok || !body) return say(body?.message ?? 'The server does not answer.', true);
  if (!(await ready)) return say('The script of the reference did not load; load the page again.', true);
  who = asked;
  shown?.destroy();
  const element = document.createElement('div');
  document.getElementById('reference').replaceChildren(element);
  shown = window.Scalar.createApiReference(element, settings(withExamplesOff(body)));
  const count = Object.values(body.paths).length;
  say(`${count} operations${asked.token === '' ? ', without a credential' : ''}`);
}

/** The reference sends each parameter that has an example: those that need not be given are left off until they are chosen. */
function withExamplesOff(content) {
  const operations = Object.values(content.paths).flatMap((item) => [item, item.get, item.post]);
  const inline = operations.flatMap((each) => each?.parameters ?? []);
  for (const parameter of [...inline, ...Object.values(content.components.parameters)]) {
    if (parameter.required || parameter.$ref) continue;
    for (const holder of [parameter, ...Object.values(parameter.content ?? {})]) {
      if (!('example' in holder)) continue;
      holder.examples = { default: { value: holder.example, 'x-disabled': true } };
      delete holder.example;
    }
  }
  return content;
}

/** Nothing leaves this server: no proxy, fonts, telemetry, assistants or editors of others. */
function settings(content) {
  return {
    content,
    customFetch: (input, init) => sent(new Request(input, init), who),
    servers: [{ url: location.origin }],
    proxyUrl: '',
    withDefaultFonts: false,
    telemetry: false,
    persistAuth: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    mcp: { disabled: true },
    agent: { disabled: true },
    externalUrls: { dashboardUrl: '', registryUrl: '', proxyUrl: '', apiBaseUrl: '' },
    documentDownloadType: 'json',
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  };
}

/** A request to this server in the name of whoever is asked for; to others it is not sent at all. */
function sent(request, { application, token, role }) {
  if (new URL(request.url).origin !== location.origin)
    return Promise.reject(new TypeError('Only this server is called.'));
  const headers = new Headers(request.headers);
  if (token !== '') headers.set('authorization', `Bearer ${token}`);
  if (role && !headers.has('x-role')) headers.set('x-role', role);
  if (application !== main && !headers.has('x-app')) headers.set('x-app', application);
  return fetch(new Request(request, { headers, credentials: 'omit', referrerPolicy: 'no-referrer' }));
}

/**
 * The reference adds style elements and style attributes from its script. The policy of this page has no 'unsafe-inline':
 * elements get the nonce of this reply, and attributes are set by way of the style object, which the policy allows.
 */
function allowOwnStyles(nonce) {
  const { createElement } = Document.prototype;
  Document.prototype.createElement = function (name, options) {
    const element = createElement.call(this, name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (name !== 'style' || this.style === undefined) setAttribute.call(this, name, value);
    else this.style.cssText = value;
  };
  const innerHtml = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML');
  Object.defineProperty(Element.prototype, 'innerHTML', {
    ...innerHtml,
    set(html) {
      const held = String(html).replaceAll(/(<[a-z][^<>]*) style="/gi, '$1 data-own-style="');
      innerHtml.set.call(this, held);
      for (const element of (this.content ?? this).querySelectorAll('[data-own-style]')) {
        element.style.cssText = element.dataset.ownStyle;
        delete element.dataset.ownStyle;
      }
    },
  });
}

/** Whether a script came. */
function loaded(src) {
  return new Promise((resolve) => {
    const script = document.createElement('script');
    script.src = src;
    script.onload = () => resolve(true);
    script.onerror = () => resolve(false);
    document.head.append(script);
  });
}

function say(text, failed = false) {
  state.textContent = text;
  state.toggleAttribute('data-failed', failed);
}

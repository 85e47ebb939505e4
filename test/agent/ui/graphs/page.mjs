// A page as an application's author writes it, in a stand-in for a browser. It prints what a reader of the page sees.
import { JSDOM } from 'jsdom';

const [, , apiUrl, assistantId, message] = process.argv;
const options = { url: 'http://page.example.com/', runScripts: 'dangerously' };
const { window } = new JSDOM('<div id="root"></div>', options);
Object.assign(globalThis, { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: false });

const { createElement } = await import('react');
const { createRoot } = await import('react-dom/client');
const { Client } = await import('@langchain/langgraph-sdk');
const { LoadExternalComponent, experimental_loadShare } =
  await import('@langchain/langgraph-sdk/react-ui');

experimental_loadShare('words', { weatherWord: 'Rain' });
const stream = { client: new Client({ apiUrl, apiKey: null }), assistantId };
const props = { stream, message: JSON.parse(message), meta: 'the page' };
createRoot(document.getElementById('root')).render(createElement(LoadExternalComponent, props));

const roots = () =>
  [...document.querySelectorAll('#root div')].map((div) => div.shadowRoot).filter(Boolean);
const shown = () =>
  roots()
    .map((root) => root.innerHTML)
    .join('');
const ends = Date.now() + 20_000;
const until = async (isTrue) => {
  while (!isTrue() && Date.now() < ends) await new Promise((resolve) => setTimeout(resolve, 20));
};

// A browser loads a script that is put into a shadow tree. jsdom does not.
await until(() => shown().includes('<script'));
for (const script of roots().flatMap((root) => [...root.querySelectorAll('script')])) {
  window.eval(await (await fetch(script.src)).text());
  script.onload();
}
await until(() => shown().includes('<p'));
console.log(shown());
process.exit();

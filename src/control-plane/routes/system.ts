import { Type } from 'typebox';
import { Unavailable } from '../../errors.ts';
import { answerJson, answerNoContent, bindRoutes, answerText } from '../../http/routes/route.ts';
import { buildRestRouteMakers } from './route.ts';

const route = buildRestRouteMakers<[SystemParts]>('system');
const Ok = Type.Object({ ok: Type.Boolean() });

/**
 * `synced` is true once the cluster has been read, so that answers are complete. `stopping` is true once the process is
 * to end.
 */
export type Health = { synced: () => boolean; stopping: () => boolean };

export type SystemParts = { health: Health; document: () => unknown };

/** A page that prints /openapi.json, without anything from other hosts. */
const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gx-platform control plane</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1d2330; background: #fff; }
  h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; text-transform: capitalize; }
  details { border: 1px solid #d9dde5; border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; }
  summary { cursor: pointer; } code, pre { font: 13px/1.45 ui-monospace, monospace; }
  pre { overflow: auto; background: #f5f6f9; padding: .6rem; border-radius: 4px; max-height: 30rem; }
  .verb { display: inline-block; width: 4.5rem; font-weight: 600; text-transform: uppercase; }
  .note { color: #5a6475; }
</style>
</head>
<body>
<h1 id="title">gx-platform</h1>
<p class="note" id="about"></p>
<p><a href="openapi.json">openapi.json</a></p>
<div id="operations"></div>
<script type="module">
const make = (tag, text, className) => Object.assign(document.createElement(tag), { textContent: text ?? '', className: className ?? '' });
const shown = (title, value) => {
  const box = make('div');
  box.append(make('h4', title), make('pre', JSON.stringify(value, null, 2)));
  return box;
};
const spec = await (await fetch('openapi.json')).json();
document.getElementById('title').textContent = spec.info.title + ' ' + spec.info.version;
document.getElementById('about').textContent = spec.info.description;
const groups = new Map();
for (const [path, methods] of Object.entries(spec.paths))
  for (const [verb, operation] of Object.entries(methods)) {
    const box = make('details');
    const line = make('summary');
    line.append(make('span', verb, 'verb'), make('code', path), make('span', ' ' + operation.summary, 'note'));
    box.append(line);
    if (operation.parameters.length > 0) box.append(shown('Parameters', operation.parameters));
    if (operation.requestBody) box.append(shown('Body', operation.requestBody.content['application/json'].schema));
    box.append(shown('Answers', operation.responses));
    const tag = operation.tags[0];
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push(box);
  }
const root = document.getElementById('operations');
for (const [tag, boxes] of groups) root.append(make('h2', tag), ...boxes);
</script>
</body>
</html>
`;

export const controlPlaneSystemRoutes = bindRoutes([
  route.get('/', {
    id: 'root',
    summary: 'Redirect to the page that describes this API.',
    access: 'open',
    answers: { 302: { description: 'To /docs.' } },
    // The address is relative, because only the caller knows the prefix that a proxy shows.
    handler: () => answerNoContent(302, { location: 'docs' }),
  }),
  route.get('/healthz', {
    id: 'healthz',
    summary: 'The process is alive.',
    access: 'open',
    answers: { 200: { description: 'Alive.', schema: Ok } },
    handler: () => answerJson({ ok: true }),
  }),
  route.get('/readyz', {
    id: 'readyz',
    summary: 'The process has read the cluster and takes requests.',
    access: 'open',
    answers: {
      200: { description: 'Ready.', schema: Ok },
      503: { description: 'Starting or stopping.' },
    },
    handler: (_request, { health }) => {
      if (!health.synced() || health.stopping())
        throw new Unavailable('The control plane is starting or stopping.');
      return answerJson({ ok: true });
    },
  }),
  route.get('/openapi.json', {
    id: 'openapi',
    summary: 'Get this API as an OpenAPI document.',
    access: 'open',
    answers: { 200: { description: 'OpenAPI 3.0.3.', schema: Type.Object({}) } },
    handler: (_request, { document }) => answerJson(document()),
  }),
  route.get('/docs', {
    id: 'docs',
    summary: 'Show this API as a page.',
    access: 'open',
    answers: { 200: { description: 'A page.', contentType: 'text/html', schema: Type.String() } },
    handler: () => answerText(DOCS_PAGE, 'text/html; charset=utf-8'),
  }),
]);

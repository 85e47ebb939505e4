import type { Bundles } from '../ui/main.ts';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Type } from 'typebox';
import { NotFound } from '../../errors.ts';
import { answerText, bindRoutes } from '../../http/routes/route.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { isUuid } from '../kernel/ids.ts';
import { loadAssistant } from './assistants.ts';
import { describeAnswer, refused, buildAgentRoutes } from './route.ts';

/*
 * Generative UI: the components of gx.json's `ui`, as `LoadExternalComponent` of `@langchain/langgraph-sdk/react-ui`
 * asks for them.
 */

type Bundle = { name: string; files: Record<string, string> };

const route = buildAgentRoutes<[AgentDeps]>('ui');
const TYPES: Record<string, string> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.map': 'application/json',
};

function getBundle({ bundles }: { bundles: Bundles }, name: string): Bundle {
  if (!Object.hasOwn(bundles, name)) throw new NotFound(`gx.json has no "ui" named "${name}".`);
  return { name, files: bundles[name]! };
}

/** Returns the bundle of the assistant that a page streams, which it names by its graph or by its id. */
async function loadBundle(
  { db, bundles }: AgentDeps,
  asked: string,
  caller: AgentCaller,
): Promise<Bundle> {
  if (Object.hasOwn(bundles, asked) || !isUuid(asked)) return getBundle({ bundles }, asked);
  const assistant_id = asked.toLowerCase();
  const { permits } = await askPermission(caller, 'assistants:read', {
    assistant_id,
    metadata: {},
  });
  return getBundle({ bundles }, (await loadAssistant({ db }, assistant_id, permits)).graph_id);
}

const escapeHtml = (value: string): string =>
  value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** Returns a version that changes with the files, so that browsers may keep them. */
const hashFiles = ({ files }: Bundle): string =>
  createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);

/**
 * Returns the HTML that shows one component. The client puts the id of the shadow root in the place of
 * `{{shadowRootId}}`; the bundler names the script's variable.
 */
function renderHtml(bundle: Bundle, component: string, address: string): string {
  const links = Object.keys(bundle.files).map((file) => {
    const url = escapeHtml(
      `${address}/ui/${encodeURIComponent(bundle.name)}/${encodeURIComponent(file)}?v=${hashFiles(bundle)}`,
    );
    return { kind: path.extname(file), url };
  });
  const variable = `__LGUI_${bundle.name.replaceAll(/[^a-zA-Z0-9]/g, '_')}`;
  const show = escapeHtml(`${variable}.render(${JSON.stringify(component)}, "{{shadowRootId}}")`);
  return [
    ...links
      .filter(({ kind }) => kind === '.css')
      .map(({ url }) => `<link rel="stylesheet" href="${url}">`),
    ...links
      .filter(({ kind }) => kind === '.js')
      .map(({ url }) => `<script src="${url}" onload="${show}"></script>`),
  ].join('\n');
}

export const uiRoutes = bindRoutes([
  route.post('/ui/{name}', {
    id: 'get_ui_component',
    summary: 'Get the HTML that shows a component',
    access: 'read',
    params: Type.Object({
      name: Type.String({
        description: 'A name in gx.json\'s "ui", or the id of an assistant of that graph.',
      }),
    }),
    body: Type.Object({ name: Type.String({ description: 'The component.' }) }),
    answers: {
      200: describeAnswer('HTML for a shadow root, whose id replaces `{{shadowRootId}}`.'),
      ...refused,
    },
    handler: async ({ params, body, caller, ...request }, deps) =>
      answerText(
        renderHtml(
          await loadBundle(deps, params.name, caller),
          body.name,
          deps.requests.address(request),
        ),
        'text/html; charset=utf-8',
      ),
  }),
  route.get('/ui/{name}/{file}', {
    id: 'get_ui_file',
    summary: 'Get a script or a style sheet of components',
    // A browser sends no credentials with this request.
    access: 'open',
    params: Type.Object({ name: Type.String(), file: Type.String() }),
    query: Type.Object({
      v: Type.Optional(
        Type.String({
          description: 'The version that the HTML names; with it, the file may be cached.',
        }),
      ),
    }),
    answers: { 200: describeAnswer('The file.'), ...refused },
    handler: ({ params, query }, deps) => {
      const bundle = getBundle(deps, params.name);
      if (!Object.hasOwn(bundle.files, params.file))
        throw new NotFound(`The "ui" named "${bundle.name}" has no file ${params.file}.`);
      const type = TYPES[path.extname(params.file)] ?? 'text/plain';
      const caching =
        query.v === hashFiles(bundle) ? 'public, max-age=31536000, immutable' : 'no-cache';
      return {
        ...answerText(bundle.files[params.file]!, `${type}; charset=utf-8`),
        headers: { 'cache-control': caching },
      };
    },
  }),
]);

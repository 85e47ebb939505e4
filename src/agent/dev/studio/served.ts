import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { NotFound, Problem } from '../../../errors.ts';
import { PAGE_HEADERS } from '../../../http/routes/page-headers.ts';
import { answerNoContent, answerText, type Reply } from '../../../http/routes/route.ts';
import type { Feature } from '../../routes/feature.ts';
import { buildAgentRoutes, describeAnswer, type AgentRoute } from '../../routes/route.ts';

/** Where the page is built, in a checkout and in the package alike. */
const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', 'dist', 'studio');
const TYPES = { css: 'text/css', html: 'text/html', js: 'text/javascript' } as const;
const FILE = /^[\w-]+\.(css|js)$/;
const NOT_BUILT = 'The studio is not built. `node dev/console/build.ts` builds it.';

const route = buildAgentRoutes('system');

const buildStudioRoutes = (): AgentRoute[] => [
  route.get('/studio', {
    id: 'studio',
    summary:
      "Show the studio, a page to inspect the graphs and to talk to them (on a developer's machine)",
    access: 'open',
    answers: { 200: describeAnswer('A page.'), 503: { description: 'Not built.' } },
    handler: () => answer('index.html'),
  }),
  route.get('/chat', {
    id: 'chat',
    summary: 'Redirect from the former address of the studio',
    access: 'open',
    answers: { 302: { description: 'The studio is at `/studio` now.' } },
    // A browser keeps the part behind the hash, which may have a key.
    handler: () => answerNoContent(302, { location: 'studio' }),
  }),
  route.get('/studio/assets/{file}', {
    id: 'studio_file',
    summary: 'Get a file of the studio',
    access: 'open',
    params: Type.Object({ file: Type.String() }),
    answers: { 200: describeAnswer('A file.'), 404: { description: 'Not there.' } },
    handler: ({ params: { file } }) => {
      if (!FILE.test(file) || !existsSync(join(FOLDER, 'assets', file)))
        throw new NotFound(`The studio has no file ${file}.`);
      return answer(join('assets', file));
    },
  }),
];

/** Only `dev` serves the page, because anyone who opens it may do everything. */
export const studioPage: Feature = { isServed: () => true, routes: buildStudioRoutes };

function answer(name: string): Reply {
  const path = join(FOLDER, name);
  if (!existsSync(path)) throw new Problem(503, NOT_BUILT);
  const ending = name.slice(name.lastIndexOf('.') + 1) as keyof typeof TYPES;
  return {
    ...answerText(readFileSync(path, 'utf8'), `${TYPES[ending]}; charset=utf-8`),
    headers: PAGE_HEADERS,
  };
}

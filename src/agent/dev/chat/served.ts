import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { Type } from 'typebox';
import { NotFound } from '../../../errors.ts';
import { text, type Reply } from '../../../http/route.ts';
import type { Feature } from '../../routes/feature.ts';
import { ok, route, type AgentRoute } from '../../routes/route.ts';

const FOLDER = new URL('page/', import.meta.url);
const TYPES = { css: 'text/css', html: 'text/html', js: 'text/javascript', ts: 'text/javascript' } as const;
const FILE = /^[a-z-]+\.(css|js|ts)$/;

const chatRoutes = (): AgentRoute[] => [
  route({
    method: 'get',
    path: '/chat',
    id: 'chat',
    summary: "A page to talk to the graphs, on a developer's machine",
    tag: 'system',
    access: 'open',
    answers: { 200: ok('A page.') },
    handler: () => answer('index.html'),
  }),
  route({
    method: 'get',
    path: '/chat/{file}',
    id: 'chat_file',
    summary: 'A file of that page',
    tag: 'system',
    access: 'open',
    params: Type.Object({ file: Type.String() }),
    answers: { 200: ok('A file.'), 404: { description: 'Not there.' } },
    handler: ({ params }) => {
      const name = existing(params.file);
      if (name === undefined) throw new NotFound(`The chat page has no file ${params.file}.`);
      return answer(name);
    },
  }),
];

/** Only `dev` serves the page, because anyone who opens it may do everything. */
export const chatPage: Feature = { isServed: () => true, routes: chatRoutes };

/**
 * Finds the file to serve. The page asks for `.js`; in a checkout that is a `.ts`, whose types are stripped on the way.
 */
function existing(file: string): string | undefined {
  if (!FILE.test(file)) return undefined;
  return [file, file.replace(/\.js$/, '.ts')].find((name) => existsSync(new URL(name, FOLDER)));
}

function answer(name: string): Reply {
  const content = readFileSync(new URL(name, FOLDER), 'utf8');
  const ending = name.slice(name.lastIndexOf('.') + 1) as keyof typeof TYPES;
  const reply = text(ending === 'ts' ? module.stripTypeScriptTypes(content) : content, `${TYPES[ending]}; charset=utf-8`);
  const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'";
  return { ...reply, headers: { 'content-security-policy': policy, 'cache-control': 'no-cache' } };
}

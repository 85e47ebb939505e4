import { Type } from 'typebox';
import { answerJson, answerText, type Reply } from '../../http/routes/route.ts';
import { checkQueue } from '../db/base/stats.ts';
import { buildEnumSchema } from '../../schema/types.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { Metrics } from '../parts/metrics.ts';
import { describeAnswer, type AgentRoute, buildAgentRoutes } from './route.ts';

export type ServerInfo = {
  /** The features that can be turned off and are served here. */
  flags: Record<string, boolean>;
  version: string;
  langgraphVersion: string;
  deployment: string | undefined;
  revision: string | undefined;
  /** The address of a trace, with `{trace_id}` in the place of its id. */
  traceLink: string | undefined;
};

/** `docsAccess`: who may read the description of the server. */
type SystemFacts = { info: ServerInfo; document: () => unknown; docsAccess: 'open' | 'read' };

const route = buildAgentRoutes('system');
const Any = Type.Unsafe<unknown>({ type: 'object' });
const CHECK_WITHIN = 3000;
/** Milliseconds after which a look at the queue counts as stuck; there is one every 1.5 s. */
const LOOKS_WITHIN = 30_000;

/** Reports whether this process can do its work, which needs the database and its queue. `more` is added to it. */
export function buildHealthRoute(
  deps: AgentDeps,
  path: '/' | '/ok',
  more: () => object = () => ({}),
): AgentRoute {
  return route.get(path, {
    id: path === '/' ? 'root' : 'health',
    summary: 'Check the health of the server, its database and its queue',
    access: 'open',
    query: Type.Object({ check_db: Type.Optional(Type.Boolean()) }),
    answers: {
      200: describeAnswer('It is.', Any),
      503: {
        description:
          'The database or the queue does not answer, or the graphs can no longer be loaded.',
      },
    },
    handler: ({ query }) => checkHealth(deps, { asked: query.check_db !== false, more }),
  });
}

async function checkHealth(
  deps: AgentDeps,
  { asked, more }: { asked: boolean; more: () => object },
): Promise<Reply> {
  if (!asked)
    return answerJson({ ok: true, services: { database: 'skipped', queue: 'skipped' }, ...more() });
  const late = new Promise<never>((_, reject) =>
    setTimeout(reject, CHECK_WITHIN, new Error('no answer in time')).unref(),
  );
  try {
    await Promise.race([checkQueue(deps.db), late]);
  } catch (error) {
    deps.log.warn({ err: error }, 'health check failed');
    return answerJson({ ok: false, services: { database: 'unhealthy', queue: 'unhealthy' } }, 503);
  }
  const works = deps.host.well && deps.pump.silentFor < LOOKS_WITHIN;
  if (!works)
    deps.log.warn(
      { graphs_load: deps.host.well, silent_ms: deps.pump.silentFor },
      'this process can not run graphs, or does not look at the queue',
    );
  const services = { database: 'healthy', queue: works ? 'healthy' : 'unhealthy' };
  return answerJson({ ok: works, services, ...more() }, works ? 200 : 503);
}

const renderPage = (
  title: string,
): string => `<!doctype html><html><head><meta charset="utf-8"><title>${title}</title>
<style>body{font:15px/1.5 system-ui;margin:2rem auto;max-width:60rem}code{background:#f2f2f2;padding:.1rem .3rem}td{padding:.2rem .8rem .2rem 0;vertical-align:top}</style></head>
<body><h1>${title}</h1><p>The machine-readable description is <a href="openapi.json">openapi.json</a>.</p><table id="t"></table>
<script>fetch('openapi.json').then(r=>r.json()).then(d=>{for(const[p,ms]of Object.entries(d.paths))for(const[m,o]of Object.entries(ms)){
const row=t.insertRow();row.insertCell().innerHTML='<code></code>';row.cells[0].firstChild.textContent=m.toUpperCase()+' '+p;row.insertCell().textContent=o.summary}})</script></body></html>`;

/** Returns the errors of graphs that a server on a developer's machine can't load. */
const listGraphErrors = ({ graphFaults }: AgentDeps): object => {
  const faults = graphFaults();
  return faults.length > 0 ? { graph_errors: faults } : {};
};

const buildInfoRoute = (deps: AgentDeps, { info, docsAccess }: SystemFacts): AgentRoute =>
  route.get('/info', {
    id: 'info',
    summary: 'Get the version and the features of this server',
    access: docsAccess,
    answers: { 200: describeAnswer('Facts.', Any) },
    handler: () =>
      answerJson({
        version: info.version,
        langgraph_js_version: info.langgraphVersion,
        context: 'js',
        flags: {
          assistants: true,
          crons: false,
          stream_namespaces: true,
          event_streaming: false,
          langsmith: false,
          langsmith_tracing_replicas: false,
          langsmith_tracing_session_on_runs: false,
          ...info.flags,
        },
        host: {
          kind: 'self-hosted',
          project_id: info.deployment ?? null,
          host_revision_id: null,
          revision_id: info.revision ?? null,
          tenant_id: null,
        },
        ...(info.traceLink !== undefined && { trace_link: info.traceLink }),
        ...(deps.webhooks.withheld.length > 0 && {
          webhooks: { withheld_headers: deps.webhooks.withheld },
        }),
        ...listGraphErrors(deps),
      }),
  });

/** Answers with the metrics of this process. `access`: who may read them. */
export const buildMetricsRoute = (metrics: Metrics, access: 'open' | 'read'): AgentRoute =>
  route.get('/metrics', {
    id: 'metrics',
    summary: 'Get metrics for Prometheus, or as JSON',
    access,
    query: Type.Object({ format: Type.Optional(buildEnumSchema(['prometheus', 'json'])) }),
    answers: { 200: describeAnswer('Metrics.') },
    handler: async ({ query }) => {
      if (query.format === 'json') return answerJson(await metrics.json());
      const { text: body, type } = await metrics.prometheus();
      return answerText(body, type);
    },
  });

const buildOpenapiRoute = ({ document, docsAccess }: SystemFacts): AgentRoute =>
  route.get('/openapi.json', {
    id: 'openapi',
    summary: 'Get this API as an OpenAPI document',
    access: docsAccess,
    answers: { 200: describeAnswer('OpenAPI 3.0.', Any) },
    handler: () => answerJson(document()),
  });

const buildDocsRoute = ({ docsAccess }: SystemFacts): AgentRoute =>
  route.get('/docs', {
    id: 'docs',
    summary: 'Show this API as a page',
    access: docsAccess,
    answers: { 200: describeAnswer('A page.') },
    handler: () => answerText(renderPage('Agent server'), 'text/html; charset=utf-8'),
  });

export const buildSystemRoutes = (deps: AgentDeps, facts: SystemFacts): AgentRoute[] => [
  buildHealthRoute(
    deps,
    '/',
    facts.docsAccess === 'open' ? () => listGraphErrors(deps) : undefined,
  ),
  buildInfoRoute(deps, facts),
  buildOpenapiRoute(facts),
  buildDocsRoute(facts),
];

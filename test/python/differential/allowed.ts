import type { Difference } from './differences.ts';

/** Differences that are meant, each with its reason. `request` and `field` are matched with those of a difference. */
type Allowed = { request: RegExp; field: RegExp; reason: string };

const ANY = /./;

export const ALLOWED: Allowed[] = [
  {
    request: ANY,
    field: /\.langgraph_plan$/,
    reason: 'the vendor names its plan, and this server has none',
  },
  {
    request: ANY,
    field: /\.langgraph_api_(version|url)$/,
    reason: 'the vendor names its server and where that one is',
  },
  {
    request: /^(state|history|stream)/,
    field: /metadata\.(user_id|thread_id)$/,
    reason: 'metadata of a checkpoint leaves out what its thread says',
  },
  {
    request: /subgraphs$|^history of a subgraph$/,
    field: /(\.state|^\.body\.\*)\.metadata\.\w+$/,
    reason: 'the same for the place of a subgraph',
  },
  {
    request: /of a refused value$/,
    field: /^\.(status|body)/,
    reason: 'a state that its graph refuses is shown as it is stored, with the error',
  },
  {
    request: /state that was written|state of a copy/,
    field: /metadata\.graph_id$/,
    reason: 'the same for a state written by hand',
  },
  {
    request: ANY,
    field: /^\.body\.detail$/,
    reason: 'refusals have other words, which name the field',
  },
  {
    request: /^(make|search|get|change|copy)/,
    field: /\.(interrupts|error)$/,
    reason: 'a thread always has all of its fields',
  },
  {
    request: /^thread of/,
    field: /^\.body\.config\.configurable$/,
    reason: 'an empty config has no fields',
  },
  {
    request: /^copy a thread/,
    field: /^\.body\.values$/,
    reason: 'the answer has the values that the copy has',
  },
  {
    request: /^state of an empty thread/,
    field: /\.(metadata|created_at)$/,
    reason: 'an empty state has the form of any other',
  },
  {
    request: /^state of kept/,
    field: /\.(after|secret)$|\.anything\.of\.\*$/,
    reason:
      'a state shows values as its run did, and no secret of pydantic, where the vendor shows what is stored of them',
  },
  {
    request: /s of /,
    field: /config_schema$/,
    reason: 'a graph without a configuration has no schema of one',
  },
  {
    request: /asks\b|^stream agent as (values|updates)$/,
    field: /\.response_schema$/,
    reason: 'an interrupt has a schema of its answer only where the graph gives one',
  },
  {
    request: /^stream agent as messages$/,
    field: /^\.body\.(\*\.event|\*\.data|length)/,
    reason:
      'a streamed message ends by messages/complete, and a whole one has no metadata, as with graphs in JavaScript',
  },
  {
    request: /^stream agent as (checkpoints|debug)$/,
    field: /config\.configurable\.(user_id|__request_start_time_ms__|__after_seconds__)$/,
    reason: 'what a server notes in a configuration for itself is its own',
  },
  { request: /^runs of/, field: /\.kwargs\./, reason: "how a run is kept is each server's own" },
  {
    request: /^runs of/,
    field: /\.(webhook_status|attempt|revision|usage|langsmith_session_name)$/,
    reason:
      'a run says what became of its webhook, how often it was begun, and its revision; it has no traces',
  },
];

export const isAllowed = ({ request, field }: Difference, allowed: Allowed): boolean =>
  allowed.request.test(request) && allowed.field.test(field);

import { Invalid, Rejected } from '../../../errors.ts';
import type { RunCreate, RunKwargs } from '../../../schema/agent/run.ts';
import type { RunContext } from '../../db/runs/runs.ts';
import type { StreamMode } from '../../../schema/agent/stream-event.ts';
import type { AuthUser } from '../../../schema/wire/wall/auth.ts';
import { toNodeSelection } from '../../kernel/nodes.ts';
import type { Json } from '../../../schema/json.ts';

/** Returns true for an object that has any field. */
export const isGiven = (given: Json | null | undefined): given is Json =>
  Object.keys(given ?? {}).length > 0;

type Ids = { run_id: string; thread_id: string };

/** The request that asked for the run: its id, those of its headers that a graph may see, and who sent it. */
export type RequestOrigin = {
  requestId: string;
  headers: Json;
  user?: AuthUser | undefined;
};

const toObject = (value: unknown): Json => (value ?? {}) as Json;

/** Refuses, by name, fields whose function is not built: dropping them silently would change the request. */
export function checkFields(body: RunCreate, threadId: string | undefined): void {
  const refuse = (field: string, msg: string): never => {
    throw new Invalid([{ loc: ['body', field], msg, type: 'not_supported' }]);
  };
  if (body.if_not_exists && body.on_not_exist && body.if_not_exists !== body.on_not_exist)
    refuse('on_not_exist', 'It is another name for if_not_exists, which has another value');
  if (threadId === undefined) checkAlone(body);
  if (threadId !== undefined && body.on_completion === 'delete')
    refuse(
      'on_completion',
      'Only the thread of a run on a thread of its own can be deleted with it',
    );
  if (isGiven(body.context) && isGiven(toObject(body.config?.['configurable'])))
    throw new Rejected(
      'context: Cannot specify both configurable and context. Prefer setting context alone.',
    );
}

/** Refuses fields that a run on a thread of its own can't have: those that need anything before it. */
function checkAlone(body: RunCreate): void {
  if ((body.command?.['resume'] ?? null) !== null)
    throw new Rejected('command.resume: You must provide a thread_id when resuming.');
  const msg = 'A run on a thread of its own has no checkpoint to continue from';
  if (readRequestedCheckpoint(body)['checkpoint_id'])
    throw new Invalid([{ loc: ['body', 'checkpoint_id'], msg, type: 'not_supported' }]);
}

/** Returns whether the run's thread is to be made if it is missing; the field has two names. */
export const mayCreateThread = ({ if_not_exists, on_not_exist }: RunCreate): boolean =>
  (if_not_exists ?? on_not_exist) === 'create';

function findCommand({ command }: RunCreate): Json | null {
  const given = [command?.['update'], command?.['resume'], command?.['goto']];
  return given.some((part) => part !== undefined && part !== null) ? command! : null;
}

/** Returns true for a run that brings no new input, so that it goes on with the state of its thread. */
export const isContinuedRun = (body: RunCreate): boolean =>
  (body.input ?? null) === null || findCommand(body) !== null;

/**
 * `protocol`: the run publishes protocol events. `answers`: the questions that its command answers, if they are open
 * when it begins. `keepsWaiting`: its thread stays if the run waits for an answer. `repeatable`: its request may come
 * again, and wants the same result. `encryptionContext`: the one of its values.
 */
type CallFacts = {
  temporary: boolean;
  origin: RequestOrigin;
  protocol?: true | undefined;
  answers?: string[] | undefined;
  keepsWaiting?: true | undefined;
  repeatable?: true | undefined;
  encryptionContext?: Json | undefined;
  traced?: Pick<RunKwargs, 'trace'>;
};

/**
 * Returns the call that a run stands for. The thread's configuration overrides the assistant's, and the request's
 * overrides both.
 */
export function runKwargs(body: RunCreate, from: RunContext, ids: Ids & CallFacts): RunKwargs {
  const unshown = listUnshown(body, from);
  return {
    input: body.input ?? null,
    command: findCommand(body),
    config: {
      ...from.config,
      ...body.config,
      configurable: buildConfigurable(body, from, ids),
      metadata: runMetadata(body, from),
    },
    context: mergeSettings(body, from),
    ...(unshown.length > 0 && { unshown }),
    stream_mode: streamModes(body.stream_mode),
    interrupt_before: toNodeSelection(body.interrupt_before),
    interrupt_after: toNodeSelection(body.interrupt_after),
    webhook: body.webhook ?? null,
    feedback_keys: body.feedback_keys && body.feedback_keys.length > 0 ? body.feedback_keys : null,
    temporary: ids.temporary,
    ...(ids.keepsWaiting && { keeps_waiting: true }),
    ...(ids.temporary && ids.repeatable && { repeatable: true }),
    assistant_version: from.version,
    subgraphs: body.stream_subgraphs === true,
    resumable: body.stream_resumable === true,
    ...(ids.protocol && { protocol: true }),
    ...(ids.answers && { answers: ids.answers }),
    ...(body.budget && { budget: body.budget }),
    ...(ids.encryptionContext && { encryption_context: ids.encryptionContext }),
    ...ids.traced,
    checkpoint_during: body.checkpoint_during ?? null,
    durability: body.durability ?? (body.checkpoint_during === false ? 'exit' : 'async'),
  };
}

/**
 * The names in `configurable` that describe the call itself. A request can't forge them, and they are not settings of
 * the graph.
 */
const OWN = new Set([
  'run_id',
  'thread_id',
  'graph_id',
  'assistant_id',
  'checkpoint_ns',
  'checkpoint_id',
  'checkpoint_map',
  'langgraph_request_id',
]);
const isOwn = (name: string): boolean =>
  OWN.has(name) || name.startsWith('langgraph_auth_') || name.startsWith('__');

/**
 * Returns the settings that the caller gives. `context` and `configurable` are two names for them, so settings given
 * under one is given under both.
 */
function mergeSettings(body: RunCreate, from: RunContext): Json {
  const given = isGiven(body.context) ? body.context : toObject(body.config?.['configurable']);
  const merged = {
    ...from.context,
    ...toObject(from.config['configurable']),
    ...toObject(from.thread_config?.['configurable']),
    ...given,
  };
  return Object.fromEntries(Object.entries(merged).filter(([name]) => !isOwn(name)));
}

/** Names that LangGraph writes into the metadata of checkpoints and events itself. */
const OF_LANGGRAPH = new Set(['source', 'step', 'parents', 'writes', 'tags', 'revision_id']);
const isOfLangGraph = (name: string): boolean =>
  OF_LANGGRAPH.has(name) || /^(langgraph|ls|lc|run)_/.test(name);

/**
 * Returns the names of settings that were given as `context`, by the request or the assistant. LangGraph copies
 * settings to the metadata of checkpoints and events; those that the run's own metadata have, too, stay there.
 */
function listUnshown(body: RunCreate, from: RunContext): string[] {
  const metadata = runMetadata(body, from);
  const names = Object.keys({ ...from.context, ...body.context });
  return names.filter(
    (name) => !isOwn(name) && !isOfLangGraph(name) && !Object.hasOwn(metadata, name),
  );
}

/**
 * The caller's names, which are present but empty because nobody is authenticated. A `user_id` in the request is the
 * graph's own affair.
 */
const NOBODY = {
  langgraph_auth_user: null,
  langgraph_auth_user_id: '',
  langgraph_auth_permissions: [],
};

/** Returns the names by which a graph knows its caller. */
const buildUserFields = (user: AuthUser | undefined): Json =>
  user === undefined
    ? NOBODY
    : {
        langgraph_auth_user: user,
        langgraph_auth_user_id: user.identity,
        langgraph_auth_permissions: user.permissions,
      };

function buildConfigurable(
  body: RunCreate,
  from: RunContext,
  { run_id, thread_id, origin }: Ids & { origin: RequestOrigin },
): Json {
  return {
    user_id: null,
    ...mergeSettings(body, from),
    ...origin.headers,
    ...readRequestedCheckpoint(body),
    ...buildUserFields(origin.user),
    langgraph_request_id: origin.requestId,
    run_id,
    thread_id,
    graph_id: from.graph_id,
    assistant_id: from.assistant_id,
  };
}

const CHECKPOINT_FIELDS = ['checkpoint_ns', 'checkpoint_id', 'checkpoint_map'];

/**
 * Returns the checkpoint that the run continues from (id, namespace and map), from whichever of three fields names it.
 */
export function readRequestedCheckpoint({ checkpoint_id, checkpoint, config }: RunCreate): Json {
  const asked: Json = {
    ...toObject(config?.['configurable']),
    ...filterGiven(checkpoint),
    ...filterGiven({ checkpoint_id }),
  };
  return filterGiven(Object.fromEntries(CHECKPOINT_FIELDS.map((name) => [name, asked[name]])));
}

const filterGiven = (fields: Json | null | undefined): Json =>
  Object.fromEntries(
    Object.entries(fields ?? {}).filter(([, value]) => value !== undefined && value !== null),
  );

export function runMetadata(body: RunCreate, from: RunContext): Json {
  return {
    ...from.metadata,
    ...from.thread_metadata,
    ...toObject(body.config?.['metadata']),
    ...body.metadata,
    assistant_id: from.assistant_id,
    graph_id: from.graph_id,
  };
}

const streamModes = (mode: RunCreate['stream_mode']): StreamMode[] => {
  const modes = [mode ?? 'values'].flat();
  return modes.length > 0 ? [...new Set(modes)] : ['values'];
};

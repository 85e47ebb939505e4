import { Type, type Static } from 'typebox';
import { AskedCall, CallRefusal } from './admission.ts';
import { ModelCall } from './model-call.ts';
import { CipherAnswer, CipherCall } from './cipher.ts';
import { ExchangeAnswer, buildExchangeSchema, OwnCall } from './exchange.ts';
import { buildJsonTextSchema, buildMessageSchema, buildNullUnionSchema } from './forms.ts';
import { ThreadStart } from './graph-start.ts';
import { Call, type Answer, type Operation } from './operations.ts';
import { Outcome, RunSpec, Span } from './run-in-thread.ts';

/*
 * The messages between the server and a graph thread: all that the two ever say to each other, by the rules of
 * rules.ts. A graph thread need not be a thread.
 *
 * Start. The server opens a thread and sends `start` once, before all else. The thread loads its graphs and answers
 * `ready` with the names of their nodes, or `broken` with one sentence for a person, after which the server ends it. A
 * graph that can't be loaded breaks the thread, unless `start` asks for a `partial` one: then `ready` says in
 * `failures` why, and each run and call of that graph fails with the same sentence. Before `ready` the server sends
 * nothing more than `exchange`.
 *
 * Life. From then on the thread sends `beat` twice a second (BEAT_MILLISECONDS). Any message is a sign of life; a
 * thread that is silent for 1.5 seconds counts as stuck in a graph that never yields, and gets no more work until it is
 * heard again. `full` asks the server to give new work to another thread. The server ends a thread without a word, and
 * its end, asked or not, is the end of all that it held: the server fails its open calls with status 503, and hands its
 * runs on.
 *
 * Log. Where `sendsLog` asks for it, the thread sends each line of its log as `log`, besides writing it.
 *
 * Runs. `run` starts a run; many runs share a thread. The thread sends any number of `events`, of `spans` (where its
 * `trace` asks for them), of `usage` (where it `measures_usage`), of `admit` and of `wait`, then exactly one `done`,
 * also for a run that failed or was stopped, and nothing of the run after it. `abort` asks it to stop as soon as it
 * can: its `done` then says "interrupted". Where the run `goes_on` elsewhere, the thread reports no end of the work
 * under way in it. `drain` asks a run to stop between two of its steps, once the step that ended is stored: its `done`
 * then says `drained`. A thread that knows no steps ignores it, and the run goes on. An `abort` or a `drain` for a run
 * that the thread does not have is ignored. Of a run that is `unheard`, the thread sends no `events` until the server
 * says `hear`. Before a run whose stream is resumable (`kwargs.resumable`) stores a checkpoint, the thread sends `wait`
 * and stores nothing until `written` answers with the same `wait_id`: only then are the earlier events where the run's
 * next attempt looks for them. A thread that finds, when it stores a checkpoint, that this attempt has lost the run
 * stores nothing, stops the run, and says `lost`.
 *
 * Budgets. Before each call of a model of a run that is `bounded`, the thread asks `admit` with an `ask_id` of its own,
 * which has one answer. `admitted` without a refusal lets the call begin. With one, the run stops where it is: with its
 * question as an interrupt of the graph, or with its error. `not_admitted` has an HTTP status and a sentence: nobody
 * knows, and the call does not begin either.
 *
 * Calls. `call` asks one of the operations (operations.ts); calls and runs may overlap. Each call gets exactly one
 * answer with its `call_id`, in any order: `result`, whose `json` is the answer as JSON text, or `failed` with an HTTP
 * status and a sentence for the client. The status says whose fault it was: 400 or 404 for the caller's request (a node
 * or a graph that does not exist, values that the graph does not take), 409 and 503 for the database (another writer
 * was first; it does not answer), 500 for a fault of the graph's own code, 501 for an operation that the thread does
 * not know. The server gives up a call after a minute; an answer that comes later is ignored.
 *
 * Embeddings. A thread makes texts into vectors by itself where `index` of `start` has its language. Else it asks the
 * server: `embed` with a number of its own gets one answer, `embedded` with the vectors, or `not_embedded` with an HTTP
 * status and a sentence. The server asks a thread of that language by the call of the same name.
 *
 * Encryption. A thread encrypts values by the keys and the module in `start`. Where the module is the server's
 * (`askedCipher`), it asks: `cipher` with a number of its own gets one answer, `ciphered`, or `not_ciphered` with an
 * HTTP status and a sentence, and `passes` where the same may succeed later.
 *
 * Exchanges. `exchange` carries a message of exchange.ts: graphs ask their server, also while they load. The server
 * asks nothing.
 */

const run_id = Type.String();
const wait_id = Type.Integer();
const call_id = Type.Integer();
const embed_id = Type.Integer();
const cipher_id = Type.Integer();
const ask_id = Type.Integer();

/** The messages to a thread as well as to a runner in another process (runner.ts). */
export const ToAnyRunner = Type.Union([
  buildMessageSchema('run', { spec: RunSpec }),
  buildMessageSchema('abort', { run_id, goes_on: Type.Boolean() }),
  buildMessageSchema('drain', { run_id }),
  buildMessageSchema('hear', { run_id }),
  buildMessageSchema('admitted', {
    ask_id,
    refusal: Type.Optional(CallRefusal),
  }),
  buildMessageSchema('not_admitted', { ask_id, status: Type.Integer(), message: Type.String() }),
  buildMessageSchema('exchange', { message: ExchangeAnswer }),
]);

const Others = Type.Union([
  buildMessageSchema('start', { version: Type.String(), start: ThreadStart }),
  ToAnyRunner,
  buildMessageSchema('written', { wait_id }),
  buildMessageSchema('embedded', { embed_id, json: buildJsonTextSchema<number[][]>() }),
  buildMessageSchema('not_embedded', { embed_id, status: Type.Integer(), message: Type.String() }),
  buildMessageSchema('ciphered', { cipher_id, answer: CipherAnswer }),
  buildMessageSchema('not_ciphered', {
    cipher_id,
    status: Type.Integer(),
    message: Type.String(),
    passes: Type.Boolean(),
  }),
]);

export const ToThread = Type.Union([Others, Call]);
export type ToThread<K extends Operation = Operation> = Static<typeof Others> | Call<K>;

/** The names of each graph's nodes; null where each call may make others. */
const GraphNodes = Type.Record(Type.String(), buildNullUnionSchema(Type.Array(Type.String())));
export type GraphNodes = Static<typeof GraphNodes>;

/** Graph -> the sentence that says why it can't be loaded. */
const GraphFailures = Type.Record(Type.String(), Type.String());
export type GraphFailures = Static<typeof GraphFailures>;

/** The messages from a thread as well as from a runner. */
export const FromAnyRunner = Type.Union([
  buildMessageSchema('ready', {
    version: Type.String(),
    nodes: GraphNodes,
    failures: Type.Optional(GraphFailures),
    /** Why runs can't publish protocol events; absent where they can. */
    noEvents: Type.Optional(Type.String()),
  }),
  buildMessageSchema('broken', { sentence: Type.String() }),
  buildMessageSchema('log', { line: Type.String() }),
  /** Each event is its name and its data. */
  buildMessageSchema('events', {
    run_id,
    batch: Type.Array(Type.Tuple([Type.String(), buildJsonTextSchema<unknown>()])),
  }),
  buildMessageSchema('spans', { run_id, spans: Type.Array(Span) }),
  buildMessageSchema('usage', { run_id, calls: Type.Array(ModelCall) }),
  buildMessageSchema('admit', { ask_id, run_id, call: AskedCall }),
  buildMessageSchema('done', { run_id, outcome: Outcome }),
  buildMessageSchema('result', { call_id, json: buildJsonTextSchema<Answer<Operation>>() }),
  buildMessageSchema('failed', { call_id, status: Type.Integer(), message: Type.String() }),
  buildMessageSchema('exchange', { message: buildExchangeSchema(OwnCall) }),
]);

export const FromThread = Type.Union([
  FromAnyRunner,
  buildMessageSchema('beat', { full: Type.Boolean() }),
  buildMessageSchema('wait', { wait_id, run_id }),
  buildMessageSchema('embed', { embed_id, texts: Type.Array(Type.String()) }),
  buildMessageSchema('cipher', { cipher_id, call: CipherCall }),
]);
export type FromThread = Static<typeof FromThread>;

import {
  BaseCheckpointSaver,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
  type CheckpointTuple,
} from '@langchain/langgraph-checkpoint';
import { Conflict } from '../../../errors.ts';
import type { ReadCheckpoint, ReadList, ReadValue } from '../../run-storage/read-checkpoint.ts';
import type { StepStorage } from '../../run-storage/step-storage.ts';
import { restoreElements, type Element } from './element.ts';
import { ListTexts } from './list-texts.ts';
import { buildNewValue } from './new-value.ts';
import type { AllowedClasses } from './allowed.ts';
import { Serde, type Form } from './serde.ts';
import { UNSHOWN, stripUnshown } from '../unshown.ts';
import { storeNamed } from './unstored.ts';

type Config = Parameters<BaseCheckpointSaver['put']>[0];
type Checkpoint = Parameters<BaseCheckpointSaver['put']>[1];
type Metadata = Parameters<BaseCheckpointSaver['put']>[2];
const decoder = new TextDecoder();
/** Digits for the steps of a thread: ten thousand million can be counted. Each checkpoint holds a dozen versions. */
const VERSION_DIGITS = 10;

/** The task id of writes that no task made: an input, or a state written by hand. */
const NO_TASK = '00000000-0000-0000-0000-000000000000';

/** Checkpoints before this version of LangGraph's format keep their pending sends among the writes of their parent. */
const SENDS_APART_BEFORE = 4;

/** The place of a call: `checkpoint_id` is the last checkpoint of the graph. */
type Place = {
  thread_id?: string;
  checkpoint_ns?: string | undefined;
  checkpoint_id?: string;
  run_id?: string;
};

const toPlace = ({ configurable = {} }: Config) => {
  const { thread_id, checkpoint_ns = '', checkpoint_id, run_id } = configurable as Place;
  return {
    threadId: thread_id!,
    namespace: checkpoint_ns,
    checkpointId: checkpoint_id,
    runId: run_id,
  };
};

/**
 * LangGraph's face of the storage of steps. Versions are unique texts, because two checkpoints that fork from the same
 * parent must not share a stored channel value.
 */
export class Saver extends BaseCheckpointSaver {
  readonly steps: StepStorage<Element>;
  readonly #serde: Serde;
  readonly #form: Form;
  /** The JSON of long lists that runs have stored. */
  readonly texts = new ListTexts();

  /**
   * With `form` "records" the saver is only for showing states: no graph may run on the states that it reads. `allowed`
   * are the classes that states may hold.
   */
  constructor(
    steps: StepStorage<Element>,
    { form = 'objects', allowed }: { form?: Form; allowed?: AllowedClasses | undefined } = {},
  ) {
    super();
    this.steps = steps;
    this.#form = form;
    this.#serde = new Serde(this.serde, allowed);
    this.serde = this.#serde;
  }

  get #looks(): { looks: boolean } {
    return { looks: this.#form === 'records' };
  }

  override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const { threadId, namespace, checkpointId } = toPlace(config);
    if (threadId === undefined) return undefined;
    const found = await this.steps.loadCheckpoint(
      { threadId, namespace, checkpointId: checkpointId || undefined },
      this.#looks,
    );
    return found && this.#toTuple(found, found.writes);
  }

  override async *list(
    config: Config,
    options: NonNullable<Parameters<BaseCheckpointSaver['list']>[1]> = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable as Place;
    const { filter, before, limit } = options;
    const which = {
      threadId: thread_id || undefined,
      namespace: checkpoint_ns ?? undefined,
      checkpointId: checkpoint_id || undefined,
      before: before?.configurable?.['checkpoint_id'] as string | undefined,
      metadata: filter && Object.keys(filter).length > 0 ? filter : undefined,
      limit: limit === undefined ? undefined : Math.trunc(limit),
    };
    for (const found of await this.steps.loadCheckpoints(which, this.#looks))
      yield await this.#toTuple(
        found,
        found.writes.filter(([task]) => task === NO_TASK),
      );
  }

  /**
   * `reduced` are the writes that LangGraph will put through the channels' reducers, which need real message objects.
   */
  async #toTuple(found: ReadCheckpoint<Element>, reduced: unknown[]): Promise<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint, metadata, parent_checkpoint_id } = found;
    const buildConfig = (checkpoint_id: string): Config => ({
      configurable: { thread_id, checkpoint_ns, checkpoint_id },
    });
    const form = reduced.length > 0 ? 'objects' : this.#form;
    const channel_values: Record<string, unknown> = {};
    for (const [channel, value] of found.values)
      channel_values[channel] = await ('elements' in value
        ? restoreElements(value.elements, this.#serde, form)
        : this.#load(value, form));
    const pendingWrites: CheckpointTuple['pendingWrites'] = [];
    for (const [task, channel, value] of found.writes)
      pendingWrites.push([task, channel, await this.#load(value, form)]);
    const whole: Checkpoint = {
      channel_versions: {},
      versions_seen: {},
      ...checkpoint,
      channel_values,
    };
    if (checkpoint.v < SENDS_APART_BEFORE) await this.#addSends(whole, found);
    return {
      config: buildConfig(found.checkpoint_id),
      checkpoint: whole,
      metadata: (await this.#serde.restore(metadata)) as Metadata,
      ...(parent_checkpoint_id && { parentConfig: buildConfig(parent_checkpoint_id) }),
      pendingWrites,
    };
  }

  async #load(value: ReadValue | ReadList, form: Form): Promise<unknown> {
    if ('json' in value) return this.#serde.restore(value.json, form);
    if (value.type === 'bytes' && 'bytes' in value) return value.bytes;
    throw new Conflict(
      `A graph in another language has written this thread: it holds a value of the type "${value.type}".`,
    );
  }

  async #addSends(
    checkpoint: Checkpoint,
    { thread_id, checkpoint_ns, parent_checkpoint_id }: ReadCheckpoint<Element>,
  ): Promise<void> {
    if (parent_checkpoint_id === null) return;
    const which = {
      threadId: thread_id,
      namespace: checkpoint_ns,
      checkpointId: parent_checkpoint_id,
      limit: 1,
    };
    const [parent] = await this.steps.loadCheckpoints(which, this.#looks);
    const sends = (parent?.writes ?? []).filter(([, channel]) => channel === TASKS);
    if (sends.length === 0) return;
    checkpoint.channel_values[TASKS] = await Promise.all(
      sends.map(([, , value]) => this.#load(value, 'objects')),
    );
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  /** Returns a version whose text sorts after the former one's, character by character. */
  override getNextVersion(current: number | undefined): number {
    const digits = String(current ?? '').split('.')[0]!;
    const next = Number.parseInt(digits || '0', 10) + 1;
    const unique = Math.random().toString(36).slice(2, 12).padEnd(10, '0');
    // LangGraph compares versions as they are stored; only its types say that they are numbers.
    return `${String(next).padStart(VERSION_DIGITS, '0')}.${unique}` as unknown as number;
  }

  override async put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: Metadata,
    newVersions: Parameters<BaseCheckpointSaver['put']>[3],
  ): Promise<Config> {
    const place = toPlace(config);
    const unshown = config.configurable?.[UNSHOWN] as string[] | undefined;
    const { channel_values, ...stored } = checkpoint;
    await this.steps.put(place, {
      id: checkpoint.id,
      checkpoint: stored,
      step: metadata.step,
      versions: newVersions,
      valueOf: (channel, before) =>
        buildNewValue({ channel, values: channel_values }, before, {
          serde: this.#serde,
          texts: this.texts,
        }),
      metadataOf: async (ofRun) => {
        const [, json] = await this.#serde.dumpsTyped({
          ...ofRun,
          ...(unshown === undefined ? metadata : stripUnshown(metadata, unshown)),
          ...(place.runId && { run_id: place.runId }),
        });
        return decoder.decode(json);
      },
    });
    return {
      configurable: {
        thread_id: place.threadId,
        checkpoint_ns: place.namespace,
        checkpoint_id: checkpoint.id,
      },
    };
  }

  override deleteThread(threadId: string): Promise<void> {
    return this.steps.deleteThread(threadId);
  }

  override async putWrites(
    config: Config,
    writes: Parameters<BaseCheckpointSaver['putWrites']>[1],
    taskId: string,
    taskPath = '',
  ): Promise<void> {
    const { checkpointId, ...place } = toPlace(config);
    await this.steps.putWrites({ ...place, checkpointId: checkpointId! }, async () => {
      const dumped = writes.map(async ([channel, value], at) => {
        const [type, blob] = await storeNamed(channel, () => this.#serde.dumpsTyped(value));
        return { index: WRITES_IDX_MAP[channel] ?? at, channel, type, blob };
      });
      const replace = writes.every(([channel]) => channel in WRITES_IDX_MAP);
      return { taskId, taskPath, replace, writes: await Promise.all(dumped) };
    });
  }
}

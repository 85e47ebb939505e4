import { MemorySaver } from '@langchain/langgraph';
import type { Saver } from './saver.ts';
import { UNSHOWN } from '../unshown.ts';
import { refuseReplaced, storeNamed, UnstoredError } from './unstored.ts';

/** The steps of a run that nobody goes on from, in memory; `keep` stores where it stands after all. */
export class MemorySteps extends MemorySaver {
  readonly #saver: Saver;

  constructor(saver: Saver) {
    super();
    this.#saver = saver;
    const own = this.serde;
    this.serde = {
      dumpsTyped: async (value: unknown) => {
        const stored = await own.dumpsTyped(value);
        refuseReplaced(value, stored);
        return stored;
      },
      loadsTyped: (type, data) => own.loadsTyped(type, data),
    };
  }

  override put(...given: Parameters<MemorySaver['put']>): ReturnType<MemorySaver['put']> {
    return this.#storeFields(Object.entries(given[1].channel_values), () => super.put(...given));
  }

  override putWrites(...given: Parameters<MemorySaver['putWrites']>): Promise<void> {
    return this.#storeFields(given[1], () => super.putWrites(...given));
  }

  /** Stores values of fields. Its error names the field whose value has no stored form. */
  async #storeFields<T>(
    values: (readonly [field: string, value: unknown])[],
    store: () => Promise<T>,
  ): Promise<T> {
    try {
      return await store();
    } catch (error) {
      if (error instanceof UnstoredError)
        for (const [field, value] of values)
          await storeNamed(field, () => this.serde.dumpsTyped(value));
      throw error;
    }
  }

  /** Returns versions as the saver's, which it goes on from. */
  override getNextVersion(current: number | undefined): number {
    return this.#saver.getNextVersion(current);
  }

  /** Stores the last step of the graph and of each subgraph. The run must be under way in the saver. */
  async keep({ thread_id, run_id, [UNSHOWN]: unshown }: Record<string, unknown>): Promise<void> {
    const seen = new Set<string>();
    for await (const { config, checkpoint, metadata, pendingWrites = [] } of this.list({
      configurable: { thread_id },
    })) {
      const { checkpoint_ns = '' } = config.configurable as { checkpoint_ns?: string };
      if (seen.has(checkpoint_ns)) continue;
      seen.add(checkpoint_ns);
      const at = { thread_id, checkpoint_ns, run_id, [UNSHOWN]: unshown };
      const stored = await this.#saver.put(
        { configurable: at },
        checkpoint,
        metadata!,
        checkpoint.channel_versions,
      );
      for (const [task, writes] of Map.groupBy(pendingWrites, ([of]) => of))
        await this.#saver.putWrites(
          { configurable: { ...at, ...stored.configurable } },
          writes.map(([, channel, value]) => [channel, value]),
          task,
        );
    }
  }
}

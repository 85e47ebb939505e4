import type { Log } from '../../log.ts';
import { readGraphSchemas, type SchemaDeps } from './graph-schemas.ts';

/** The input schemas of graphs, which do not change while the process runs. */
export class GraphInputs {
  readonly #deps: SchemaDeps & { log: Log };
  readonly #known = new Map<string, Promise<unknown>>();

  constructor(deps: SchemaDeps & { log: Log }) {
    this.#deps = deps;
  }

  /**
   * Returns the JSON Schema of a graph's input; null where nothing tells it. A graph that can't be loaded now is asked
   * again.
   */
  readSchema(graphId: string): Promise<unknown> {
    const known = this.#known.get(graphId);
    if (known !== undefined) return known;
    const asked = readGraphSchemas(graphId, this.#deps).then(
      ({ input_schema }) => input_schema,
      (error: unknown) => {
        this.#known.delete(graphId);
        this.#deps.log.warn(
          { err: error, graph_id: graphId },
          'the input of a graph is not known, so its agent card and tool accept any object',
        );
        return null;
      },
    );
    this.#known.set(graphId, asked);
    return asked;
  }
}

import { parseAllDocuments } from 'yaml';
import { toError, NotFound, StartError } from '../../errors.ts';
import type { ConnectedKube, KubeObject } from '../../kube/kube.ts';
import { API_VERSION } from '../../schema/platform/objects/api-group.ts';
import { KINDS } from '../../schema/platform/resources/custom-kinds.ts';
import type { OperatorConfig } from '../../config/platform/operator.ts';
import type { KindRow } from '../kinds/row.ts';
import { OPERATOR_KINDS } from '../kinds/table.ts';
import { listDefinitions, listDroppedFields, type OtherDefinition } from './dropped-fields.ts';

type Downgrade = {
  kube: ConnectedKube;
  /** The other version's definitions, as YAML. */
  definitions: string;
  /** The operator's configuration, which says where objects of each kind are. */
  config: OperatorConfig;
  out: (line: string) => void;
  signal: AbortSignal;
};

/**
 * Prints the fields in the specs of stored objects that other definitions do not have. Throws `StartError` if there are
 * any, or if the definitions are none. Changes nothing.
 */
export async function checkDowngrade(asked: Downgrade): Promise<void> {
  const { out } = asked;
  const others = parseDefinitions(asked.definitions);
  let dropped = 0;
  for (const row of OWN_KINDS) {
    const other = others.find(({ kind }) => kind === row.kind.kind);
    for (const object of await readStoredObjects(row, asked)) {
      const fields =
        other === undefined
          ? ['the whole object']
          : listDroppedFields(object.spec ?? {}, other.schema.properties?.['spec'] ?? {}, 'spec');
      if (fields.length === 0) continue;
      dropped += 1;
      out(
        `${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}: ${fields.join(', ')}`,
      );
    }
  }
  if (dropped > 0)
    throw new StartError(
      `Those definitions lack fields of ${dropped} objects, and drop them. Nothing is changed.`,
    );
  out('Those definitions have each field that is stored.');
}

const OWN_KINDS: readonly KindRow[] = Object.values(OPERATOR_KINDS).filter(
  ({ kind }) => kind.apiVersion === API_VERSION,
);
const GROUP = API_VERSION.split('/')[0] ?? '';

function parseDefinitions(text: string): OtherDefinition[] {
  const documents = parseAllDocuments(text);
  const fault = documents.flatMap(({ errors }) => errors)[0];
  if (fault !== undefined)
    throw new StartError(
      `downgrade-check: the definitions are not YAML: ${toError(fault).message}`,
    );
  const found = listDefinitions(
    documents.map((document) => document.toJS() as unknown),
    GROUP,
  );
  if (found.length > 0) return found;
  const names = KINDS.map(({ kind }) => kind).join(', ');
  throw new StartError(
    `downgrade-check: there is no CustomResourceDefinition of ${GROUP} among them (${names}).`,
  );
}

/** Returns the objects of a kind that the operator watches. A kind without a definition has none. */
async function readStoredObjects(
  { kind, scope = () => [] }: KindRow,
  { kube, config, signal }: Downgrade,
): Promise<KubeObject[]> {
  const read = scope(config).map(({ namespace }) =>
    kube.listAll(kind, namespace === undefined ? {} : { namespace }, signal),
  );
  try {
    return (await Promise.all(read)).flat();
  } catch (error) {
    if (error instanceof NotFound) return [];
    throw error;
  }
}

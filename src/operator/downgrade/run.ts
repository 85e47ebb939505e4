import { parseAllDocuments } from 'yaml';
import { asError, Forbidden, NotFound, StartError } from '../../errors.ts';
import type { ConnectedKube } from '../../kube/client.ts';
import { kinds, type Kind, type KubeObject } from '../../kube/kube.ts';
import { API_VERSION } from '../../schema/platform/custom-resources.ts';
import { KINDS } from '../../schema/platform/custom-kinds.ts';
import { definitionsOf, droppedFields, type OtherDefinition } from './dropped-fields.ts';

type Asked = {
  kube: ConnectedKube;
  /** The other version's definitions, as YAML. */
  definitions: string;
  /** Where objects are looked for; empty: everywhere. */
  namespaces: readonly string[];
  out: (line: string) => void;
  signal: AbortSignal;
};

/**
 * Prints the fields in the specs of stored objects that other definitions do not have. Throws `StartError` if there are
 * any, or if the definitions are none. Changes nothing.
 */
export async function checkDowngrade(asked: Asked): Promise<void> {
  const { out } = asked;
  const others = othersIn(asked.definitions);
  let dropped = 0;
  for (const kind of OWN_KINDS) {
    const other = others.find((one) => one.kind === kind.kind);
    for (const object of await storedOf(kind, asked)) {
      const fields = other === undefined ? ['the whole object'] : droppedOf(object, other);
      if (fields.length === 0) continue;
      dropped += 1;
      out(`${nameOf(object)}: ${fields.join(', ')}`);
    }
  }
  if (dropped > 0)
    throw new StartError(`Those definitions have no place for fields of ${dropped} objects, and drop them. Nothing is changed.`);
  out('Those definitions have each field that is stored.');
}

const OWN_KINDS: readonly Kind[] = Object.values(kinds).filter((kind) => kind.apiVersion === API_VERSION);
const GROUP = API_VERSION.split('/')[0] ?? '';

function othersIn(text: string): OtherDefinition[] {
  const documents = parseAllDocuments(text);
  const fault = documents.flatMap(({ errors }) => errors)[0];
  if (fault !== undefined) throw new StartError(`downgrade-check: the definitions are no YAML: ${asError(fault).message}`);
  const found = definitionsOf(
    documents.map((document) => document.toJS() as unknown),
    GROUP,
  );
  if (found.length > 0) return found;
  const names = KINDS.map(({ kind }) => kind).join(', ');
  throw new StartError(`downgrade-check: there is no CustomResourceDefinition of ${GROUP} among them (${names}).`);
}

/** The status is made again by the version that runs. */
const droppedOf = ({ spec }: KubeObject, { schema }: OtherDefinition): string[] =>
  droppedFields(spec ?? {}, schema.properties?.['spec'] ?? {}, 'spec');

async function storedOf(kind: Kind, { kube, namespaces, out, signal }: Asked): Promise<KubeObject[]> {
  const places = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  const lists = places.map(async (place): Promise<KubeObject[]> => {
    try {
      return await kube.all(kind, place, signal);
    } catch (error) {
      if (error instanceof NotFound) return [];
      if (!(error instanceof Forbidden)) throw error;
      out(`${kind.kind}: not looked at, because the API server refused it: ${error.message}`);
      return [];
    }
  });
  return (await Promise.all(lists)).flat();
}

const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

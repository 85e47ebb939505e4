import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { ChangesShown, type JsonChanges } from '../json/changes-shown.tsx';
import { jsonDifferences } from '../json/json-difference.ts';
import { useStudio } from '../studio-parts.ts';
import { versionCatalog, type Catalog } from './catalogs.ts';
import type { ListedRecord } from './listed-record.ts';
import { readRecords } from './read-records.ts';
import { ReadShown } from './read-shown.tsx';
import { RecordList } from './record-list.tsx';
import { useRead } from './use-read.ts';
import { Select } from '../../shell/controls.tsx';

/** Fields that no two versions share. */
const OWN = ['version', 'created_at', 'updated_at'];

const nameOf = ({ fields }: ListedRecord): string => String(fields['version']);

/** The versions of an assistant, and the changes of one beside another. */
export function Versions({ assistant }: { assistant: string }) {
  const catalog = useMemo(() => versionCatalog(assistant), [assistant]);
  return (
    <>
      <h4>Versions</h4>
      <RecordList catalog={catalog} more={(version) => <OtherVersions key={nameOf(version)} catalog={catalog} version={version} />} />
    </>
  );
}

function OtherVersions({ catalog, version }: { catalog: Catalog; version: ListedRecord }) {
  const { agent } = useStudio();
  const read = useRead((signal) => readRecords(agent, catalog, { from: 0, signal }), catalog.things, [agent, catalog]);
  return (
    <ReadShown state={read}>
      {({ records }) => <Beside version={version} others={records.filter((one) => nameOf(one) !== nameOf(version))} />}
    </ReadShown>
  );
}

/** A version beside another one, which is the one before it until the reader chooses. */
function Beside({ version, others }: { version: ListedRecord; others: readonly ListedRecord[] }) {
  const chosen = useSignal<string | undefined>(undefined);
  const usual = others.find((one) => Number(nameOf(one)) < Number(nameOf(version))) ?? others[0];
  const other = others.find((one) => nameOf(one) === chosen.value) ?? usual;
  const read = useRead((signal) => changesBetween(other, version, signal), 'versions', [other?.node.start, version]);
  if (other === undefined) return null;
  return (
    <>
      <Select
        label="Compare with version"
        name="version"
        value={nameOf(other)}
        options={others.map(nameOf)}
        choose={(name) => (chosen.value = name)}
      />
      <ReadShown state={read}>{(changes) => <ChangesShown changes={changes} nothing="These two versions do not differ." />}</ReadShown>
    </>
  );
}

async function changesBetween(before: ListedRecord | undefined, after: ListedRecord, signal: AbortSignal): Promise<JsonChanges> {
  const found = before === undefined ? [] : await jsonDifferences(before, after, signal);
  return { before: (before ?? after).json, after: after.json, found: found.filter(({ path }) => !OWN.includes(path)) };
}

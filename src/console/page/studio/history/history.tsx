import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { Time } from '../../shell/time.tsx';
import { usePage } from '../../shell/page-parts.ts';
import { saveFile } from '../../shell/save-file.ts';
import { jsonRead } from '../forms/schema-fields.ts';
import { ChangesShown } from '../json/changes-shown.tsx';
import { JsonTree } from '../json/json-tree.tsx';
import { namesText } from '../state-text.ts';
import { useStudio } from '../studio-parts.ts';
import { CheckpointList } from './checkpoint-list.tsx';
import { TimeTravel } from './time-travel.ts';
import { Fault, Button, Select, TextArea } from '../../shell/controls.tsx';

/** The checkpoints of a thread as a tree, the state at one of them, and the ways on from there. */
export function History({ thread }: { thread: string }) {
  const { agent } = useStudio();
  const travel = useMemo(() => new TimeTravel(agent, thread), [agent, thread]);
  useEffect(() => travel.begin(), [travel]);
  const { checkpoints, refused, state, changes } = travel;
  return (
    <>
      <Fault text={refused.value} />
      {checkpoints.value === undefined && refused.value === undefined && <p aria-busy="true" />}
      {checkpoints.value?.length === 0 && <p>It has no checkpoint yet.</p>}
      {checkpoints.value !== undefined && checkpoints.value.length > 0 && (
        <CheckpointList travel={travel} checkpoints={checkpoints.value} />
      )}
      <Chosen travel={travel} />
      {state.value !== undefined && <JsonTree json={state.value.json} node={state.value.values} />}
      {changes.value !== undefined && <ChangesShown changes={changes.value} nothing="Nothing differs from the one before." />}
    </>
  );
}

function Chosen({ travel }: { travel: TimeTravel }) {
  const { value: chosen } = travel.chosen;
  if (chosen === undefined) return null;
  return (
    <>
      <p class="quiet">
        Made <Time at={chosen.madeAt} />. {chosen.next.length > 0 ? `Next: ${namesText(chosen.next)}.` : 'Nothing follows.'}
      </p>
      <Ways travel={travel} />
    </>
  );
}

function Ways({ travel }: { travel: TimeTravel }) {
  const { mayAct, readOnly, go } = useStudio();
  const page = usePage();
  const isWriting = useSignal(false);
  const isOff = !mayAct || travel.isBusy.value;
  const run = async (): Promise<void> => {
    if (await travel.runFromHere()) page.say('The run has ended.');
  };
  const copy = async (): Promise<void> => {
    const made = await travel.copy();
    if (made !== undefined) go(made);
  };
  const save = async (): Promise<void> => {
    const parts = await travel.testCase();
    if (parts !== undefined) saveFile(parts, { name: `test-case-${travel.chosen.value?.id ?? ''}.json`, type: 'application/json' });
  };
  return (
    <>
      <p class="actions">
        <Button
          disabled={travel.chosen.value?.parent === '' || travel.state.value === undefined}
          label="Compare with the one before"
          press={() => travel.compare()}
        />
        <Button
          disabled={isOff || travel.faultOfVersion() !== undefined}
          label={travel.isBusy.value ? 'It runs …' : 'Run from here'}
          press={() => run()}
        />
        <OtherAssistant travel={travel} isOff={isOff} />
        <OtherVersion travel={travel} isOff={isOff} />
        <Button disabled={isOff} label="Write into the state" press={() => (isWriting.value = !isWriting.value)} />
        <Button disabled={isOff} label="Copy the thread" press={() => copy()} />
        <Button disabled={travel.state.value === undefined} label="Save as a test case" press={() => save()} />
        {!mayAct && <span class="quiet">{readOnly}</span>}
      </p>
      {travel.faultOfVersion() !== undefined && <p class="note">{travel.faultOfVersion()}</p>}
      {isWriting.value && <StateWriter travel={travel} done={() => (isWriting.value = false)} />}
    </>
  );
}

/** The assistant with which a run from here is made. */
function OtherAssistant({ travel, isOff }: { travel: TimeTravel; isOff: boolean }) {
  const { value: assistants } = travel.assistants;
  if (assistants.length < 2) return null;
  const others = assistants.map(({ id, name, graph }) => [id, name === graph ? name : `${name} (${graph})`] as const);
  const options = [['', "the thread's own assistant"] as const, ...others];
  const { value } = travel.assistant;
  return <Select label="with" name="replay" disabled={isOff} value={value} options={options} choose={(id) => travel.take(id)} />;
}

/** The version of that assistant. */
function OtherVersion({ travel, isOff }: { travel: TimeTravel; isOff: boolean }) {
  const { value: versions } = travel.versions;
  if (versions.length < 2) return null;
  const options = versions.map(({ version, graph }) => [String(version), `${version} (${graph})`] as const);
  return (
    <Select
      label="version"
      name="replay_version"
      disabled={isOff}
      value={travel.version.value ?? ''}
      options={[['', 'the one in use'], ...options]}
      choose={(value) => (travel.version.value = value === '' ? undefined : Number(value))}
    />
  );
}

function StateWriter({ travel, done }: { travel: TimeTravel; done: () => void }) {
  const text = useSignal('{}');
  const fault = useSignal<string | undefined>(undefined);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const read = jsonRead(text.value);
    fault.value = 'fault' in read ? read.fault : undefined;
    if ('value' in read && (await travel.write(read.value))) done();
  };
  return (
    <form class="say" onSubmit={(event) => void send(event)}>
      <label class="field">
        <span>Fields to write, as JSON</span>
        <TextArea rows={5} class="mono" name="values" of={text} />
        <span class="quiet">
          They go through the reducers of the graph: a list that has one gets these items besides, and a message takes the place of the one
          with its id. The result is a new checkpoint behind the chosen one.
        </span>
      </label>
      {fault.value !== undefined && <p class="wrong">{fault.value}</p>}
      <Button class="main" disabled={travel.isBusy.value} label="Write" />
    </form>
  );
}

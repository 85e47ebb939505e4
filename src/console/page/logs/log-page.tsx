import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { useApp } from '../shell/app.ts';
import { saveFile } from '../shell/save-file.ts';
import { FollowedLog } from './followed-log.ts';
import { LogRows, type LogLook } from './log-rows.tsx';
import { LOG_LEVELS, type LogLevel } from './log-lines.ts';
import { Button, Select } from '../shell/controls.tsx';

type LogSource = { id: string; name: string; revision?: string };

/** The log of a deployment's agents, or of the build of a revision. */
export function LogView({ id, name, revision }: LogSource) {
  const app = useApp();
  const log = useMemo(() => new FollowedLog(), [id, revision]);
  const deployment = `v2/deployments/${encodeURIComponent(id)}`;
  useEffect(() => {
    const leaving = new AbortController();
    const path =
      revision === undefined ? `${deployment}/logs/stream` : `${deployment}/revisions/${encodeURIComponent(revision)}/logs/stream`;
    log.follow(app.calls, { path, isBuild: revision !== undefined }, leaving.signal);
    return () => leaving.abort();
  }, [log]);
  const look = useSignal<LogLook>({ hasTimes: true, wraps: false, isUtc: app.preferences.time.value === 'utc' });
  void log.changed.value;
  const { connection, ended, lines } = log;
  return (
    <section class="log">
      <h2>{revision === undefined ? 'Log of the agents' : `Log of the build of ${revision.slice(0, 8)}`}</h2>
      <Controls log={log} look={look.value} change={(part) => (look.value = { ...look.value, ...part })} name={name} />
      <p class="quiet" role="status">
        {lines.passing.length === lines.all.length ? `${lines.all.length} lines` : `${lines.passing.length} of ${lines.all.length} lines`}
        {lines.dropped > 0 && `, ${lines.dropped} older ones are no longer kept`}
        {connection.value.kind === 'offline' && '. The connection is away; the log goes on where it was'}
        {ended.value !== undefined && `. ${ended.value}`}
      </p>
      <LogRows log={log} look={look.value} />
    </section>
  );
}

type ControlsProps = { log: FollowedLog; look: LogLook; change: (part: Partial<LogLook>) => void; name: string };

function Controls({ log, look, change, name }: ControlsProps) {
  const text = useSignal('');
  const level = useSignal<LogLevel>('DEBUG');
  const filter = (): void => log.filter({ level: level.value, text: text.value });
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span class="unseen">Find lines with</span>
        <input
          type="search"
          name="find"
          placeholder="Find"
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            filter();
          }}
        />
      </label>
      <Select
        label="From level"
        value={level.value}
        options={LOG_LEVELS}
        choose={(chosen) => {
          level.value = LOG_LEVELS.find((one) => one === chosen) ?? 'DEBUG';
          filter();
        }}
      />
      <Check label="Times" isOn={look.hasTimes} turn={(hasTimes) => change({ hasTimes })} />
      <Check label="UTC" isOn={look.isUtc} turn={(isUtc) => change({ isUtc })} />
      <Check label="Wrap" isOn={look.wraps} turn={(wraps) => change({ wraps })} />
      <Button label="Download" press={() => download(log, `${name}.log`)} />
    </form>
  );
}

function Check({ label, isOn, turn }: { label: string; isOn: boolean; turn: (isOn: boolean) => void }) {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => turn(currentTarget.checked)} /> {label}
    </label>
  );
}

/** Saves all lines that are kept as a file, with their times in UTC. */
function download({ lines }: FollowedLog, name: string): void {
  const text = lines.all.map(({ at, level, text: line }) => `${at} ${level} ${line}\n`);
  saveFile(text, { name, type: 'text/plain' });
}

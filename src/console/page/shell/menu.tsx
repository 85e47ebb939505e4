import type { Signal } from '@preact/signals';
import { useApp } from './app.ts';
import { THEMES } from './preferences.ts';
import { TIME_MODES } from './time-text.ts';
import { Button } from './controls.tsx';

const WORDS: Record<string, string> = { utc: 'UTC' };
const wordOf = (value: string): string => WORDS[value] ?? value.charAt(0).toUpperCase() + value.slice(1);

type ChoiceProps<Value extends string> = { label: string; values: readonly Value[]; chosen: Signal<Value> };

function Choice<Value extends string>({ label, values, chosen }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {values.map((value) => (
        <label key={value}>
          <input type="radio" name={label} checked={chosen.value === value} onChange={() => (chosen.value = value)} /> {wordOf(value)}
        </label>
      ))}
    </fieldset>
  );
}

/** The choices of the reader, who that is, and the way out. */
export function Menu({ help }: { help: () => void }) {
  const app = useApp();
  const { theme, time, singleKeys } = app.preferences;
  const { name, role } = app.session.value ?? {};
  return (
    <details class="menu">
      <summary>Settings</summary>
      <div class="sheet">
        <p>
          Signed in as <strong>{name}</strong> ({role})
        </p>
        <Choice label="Theme" values={THEMES} chosen={theme} />
        <Choice label="Times" values={TIME_MODES} chosen={time} />
        <Choice label="Keys of one letter" values={['on', 'off']} chosen={singleKeys} />
        <Button label="Keys" press={help} />
        <Button label="Sign out" press={() => app.leave()} />
      </div>
    </details>
  );
}

import { useRef } from 'preact/hooks';
import { useKeys } from '../shell/keys.ts';
import { STATE_WORDS, STATES, type Facets, type ListFilter } from './list-query.ts';
import { Button, Select } from '../shell/controls.tsx';

type FiltersProps = { filter: ListFilter; facets: Facets; change: (part: Partial<ListFilter>) => void };

/** The filters of the list, with the number of rows behind each state. */
export function Filters({ filter, facets, change }: FiltersProps) {
  const field = useRef<HTMLInputElement>(null);
  useKeys({ filter: () => field.current?.focus() });
  const isFiltered =
    filter.text !== '' || filter.states.length > 0 || [filter.reason, filter.source, filter.namespace, filter.version].some(Boolean);
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span class="unseen">Filter by name, image, repository or commit</span>
        <input
          ref={field}
          type="search"
          name="q"
          placeholder="Name, image, repository, commit"
          value={filter.text}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        />
      </label>
      <States filter={filter} facets={facets} change={change} />
      <Filter label="Reason" value={filter.reason} values={facets.reasons} choose={(reason) => change({ reason })} />
      <Filter label="Source" value={filter.source} values={['git', 'external_container']} choose={(source) => change({ source })} />
      <Filter label="Namespace" value={filter.namespace} values={facets.namespaces} choose={(namespace) => change({ namespace })} />
      <Filter label="Version" value={filter.version} values={facets.versions} choose={(version) => change({ version })} />
      {isFiltered && (
        <Button label="Clear filters" press={() => change({ text: '', states: [], reason: '', source: '', namespace: '', version: '' })} />
      )}
    </form>
  );
}

function States({ filter, facets, change }: FiltersProps) {
  return (
    <fieldset class="states">
      <legend class="unseen">States</legend>
      {STATES.map((state) => {
        const isOn = filter.states.includes(state);
        const states = isOn ? filter.states.filter((one) => one !== state) : [...filter.states, state];
        return (
          <button key={state} type="button" class={`chip ${state}`} aria-pressed={isOn} onClick={() => change({ states })}>
            {STATE_WORDS[state].word} <span class="count">{facets.states[state]}</span>
          </button>
        );
      })}
    </fieldset>
  );
}

type FilterProps = { label: string; value: string; values: readonly string[]; choose: (value: string) => void };

function Filter({ label, value, values, choose }: FilterProps) {
  if (values.length < 2 && value === '') return null;
  const known = value === '' || values.includes(value) ? values : [value, ...values];
  return <Select label={label} value={value} options={[['', 'All'], ...known]} choose={choose} />;
}

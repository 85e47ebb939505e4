import { useRef } from 'preact/hooks';
import { useKeys } from '../shell/keys.ts';
import { STATE_WORDS, STATES, type Facets, type ListFilter } from './list-query.ts';

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
      <Select label="Reason" value={filter.reason} values={facets.reasons} choose={(reason) => change({ reason })} />
      <Select label="Source" value={filter.source} values={['git', 'external_container']} choose={(source) => change({ source })} />
      <Select label="Namespace" value={filter.namespace} values={facets.namespaces} choose={(namespace) => change({ namespace })} />
      <Select label="Version" value={filter.version} values={facets.versions} choose={(version) => change({ version })} />
      {isFiltered && (
        <button type="button" onClick={() => change({ text: '', states: [], reason: '', source: '', namespace: '', version: '' })}>
          Clear filters
        </button>
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

type SelectProps = { label: string; value: string; values: readonly string[]; choose: (value: string) => void };

function Select({ label, value, values, choose }: SelectProps) {
  const isKnown = value === '' || values.includes(value);
  if (values.length < 2 && value === '') return null;
  return (
    <label class="select">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">All</option>
        {(isKnown ? values : [value, ...values]).map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

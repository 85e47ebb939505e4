import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useApp } from '../shell/app.ts';
import {
  parseListFilter,
  buildFirstPageQuery,
  buildFilterQuery,
  filterRows,
  type ListFilter,
  STATE_WORDS,
  STATES,
  type Facets,
} from './list-query.ts';
import { Rows } from './rows.tsx';
import { describeFailure } from '../api/failure-text.ts';
import { EmptyState, Fault, Button, Select } from '../shell/controls.tsx';
import { CopyButton } from '../shell/copy-button.tsx';
import { useKeys } from '../shell/keys.ts';

/** All deployments of the tenant, live. */
export function DeploymentList() {
  const app = useApp();
  const { router, store } = app;
  const filter = useComputed(() => parseListFilter(router.query.value));
  const shown = useComputed(() => {
    void store.value.changed.value;
    return filterRows(store.value.all.values(), filter.value);
  });
  const refused = useSignal<string | undefined>(undefined);
  useEffect(() => {
    document.title = 'Deployments · gx console';
    const leaving = new AbortController();
    if (store.value.loaded.peek() === 'none')
      store.value
        .readFirst(app.calls, buildFirstPageQuery(filter.peek()), leaving.signal)
        .catch((error: unknown) => {
          if (!leaving.signal.aborted) refused.value = describeFailure(error);
        });
    return () => leaving.abort();
  }, [store.value]);
  const applyFilter = (part: Partial<ListFilter>): void =>
    router.replaceQuery(buildFilterQuery({ ...filter.peek(), ...part }));
  const { rows, facets } = shown.value;
  const loaded = store.value.loaded.value;
  return (
    <main class="list">
      <div class="heading">
        <h1 tabIndex={-1}>Deployments</h1>
        <p class="quiet" role="status">
          {countText({
            shown: rows.length,
            held: store.value.all.size,
            loaded,
            total: store.value.total.value,
          })}
        </p>
      </div>
      {(loaded !== 'all' || store.value.all.size > 0) && (
        <Filters filter={filter.value} facets={facets} change={applyFilter} />
      )}
      {loaded === 'none' && <Fault text={refused.value} />}
      {loaded === 'all' && rows.length === 0 ? (
        <Empty isFiltered={store.value.all.size > 0} />
      ) : (
        <Rows rows={rows} filter={filter.value} change={applyFilter} />
      )}
    </main>
  );
}

type Counted = {
  shown: number;
  held: number;
  loaded: 'none' | 'some' | 'all';
  total: number | undefined;
};

function countText({ shown, held, loaded, total }: Counted): string {
  if (loaded === 'none') return 'Reading';
  const all = loaded === 'all' ? held : (total ?? held);
  return shown === all ? `${all}` : `${shown} of ${all}`;
}

/** A deployment that serves an image. */
const EXAMPLE = `kubectl apply -f - <<END
apiVersion: gx.dev/v1alpha1
kind: Deployment
metadata:
  name: my-agent
  namespace: gx-agents
spec:
  source: external_container
  template:
    sourceRevisionConfig:
      imageUri: registry.example.com/my-agent:1.0.0
END`;

function Empty({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <EmptyState icon="search" title="No deployment passes these filters.">
        <p>The search looks at names, images, repositories and commits.</p>
      </EmptyState>
    );
  return (
    <EmptyState icon="layers" title="There are no deployments yet.">
      <p>Create one with kubectl or with the API, and it appears here.</p>
      <pre tabIndex={0}>{EXAMPLE}</pre>
      <CopyButton text={EXAMPLE} label="Copy the example" />
    </EmptyState>
  );
}

type FiltersProps = {
  filter: ListFilter;
  facets: Facets;
  change: (part: Partial<ListFilter>) => void;
};

function Filters({ filter, facets, change }: FiltersProps) {
  const field = useRef<HTMLInputElement>(null);
  useKeys({ filter: () => field.current?.focus() });
  const isFiltered =
    filter.text !== '' ||
    filter.states.length > 0 ||
    [filter.reason, filter.source, filter.namespace, filter.version].some(Boolean);
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
      <Filter
        label="Reason"
        value={filter.reason}
        values={facets.reasons}
        choose={(reason) => change({ reason })}
      />
      <Filter
        label="Source"
        value={filter.source}
        values={['git', 'external_container']}
        choose={(source) => change({ source })}
      />
      <Filter
        label="Namespace"
        value={filter.namespace}
        values={facets.namespaces}
        choose={(namespace) => change({ namespace })}
      />
      <Filter
        label="Version"
        value={filter.version}
        values={facets.versions}
        choose={(version) => change({ version })}
      />
      {isFiltered && (
        <Button
          label="Clear filters"
          press={() =>
            change({ text: '', states: [], reason: '', source: '', namespace: '', version: '' })
          }
        />
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
        const states = isOn
          ? filter.states.filter((one) => one !== state)
          : [...filter.states, state];
        return (
          <button
            key={state}
            type="button"
            class={facets.states[state] === 0 && !isOn ? 'chip none' : 'chip'}
            aria-pressed={isOn}
            onClick={() => change({ states })}
          >
            {STATE_WORDS[state].word} <span class="count">{facets.states[state]}</span>
          </button>
        );
      })}
    </fieldset>
  );
}

type FilterProps = {
  label: string;
  value: string;
  values: readonly string[];
  choose: (value: string) => void;
};

function Filter({ label, value, values, choose }: FilterProps) {
  if (values.length < 2 && value === '') return null;
  const known = value === '' || values.includes(value) ? values : [value, ...values];
  return <Select label={label} value={value} options={[['', 'All'], ...known]} choose={choose} />;
}

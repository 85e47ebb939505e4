import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useApp } from '../shell/app.ts';
import { Filters } from './filters.tsx';
import { filterIn, firstPageQuery, queryWith, shownRows, type ListFilter } from './list-query.ts';
import { Rows } from './rows.tsx';
import { failureText } from '../api/failure-text.ts';
import { Fault } from '../shell/controls.tsx';

/** All deployments of the tenant, live. */
export function DeploymentList() {
  const app = useApp();
  const { router, store } = app;
  const filter = useComputed(() => filterIn(router.query.value));
  const shown = useComputed(() => {
    void store.value.changed.value;
    return shownRows(store.value.all.values(), filter.value);
  });
  const refused = useSignal<string | undefined>(undefined);
  useEffect(() => {
    document.title = 'Deployments · gx console';
    const leaving = new AbortController();
    if (store.value.loaded.peek() === 'none')
      store.value.first(app.calls, firstPageQuery(filter.peek()), leaving.signal).catch((error: unknown) => {
        if (!leaving.signal.aborted) refused.value = failureText(error);
      });
    return () => leaving.abort();
  }, [store.value]);
  const change = (part: Partial<ListFilter>): void => router.replaceQuery(queryWith({ ...filter.peek(), ...part }));
  const { rows, facets } = shown.value;
  const loaded = store.value.loaded.value;
  return (
    <main class="list">
      <div class="heading">
        <h1 tabIndex={-1}>Deployments</h1>
        <p class="quiet" role="status">
          {countText({ shown: rows.length, held: store.value.all.size, loaded, total: store.value.total.value })}
        </p>
      </div>
      <Filters filter={filter.value} facets={facets} change={change} />
      {loaded === 'none' && <Fault text={refused.value} />}
      {loaded === 'all' && rows.length === 0 ? (
        <Empty isFiltered={store.value.all.size > 0} />
      ) : (
        <Rows rows={rows} filter={filter.value} change={change} />
      )}
    </main>
  );
}

type Counted = { shown: number; held: number; loaded: 'none' | 'some' | 'all'; total: number | undefined };

function countText({ shown, held, loaded, total }: Counted): string {
  if (loaded === 'none') return 'Reading';
  const all = loaded === 'all' ? held : (total ?? held);
  return shown === all ? `${all}` : `${shown} of ${all}`;
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <p class="empty">No deployment passes these filters.</p>;
  return (
    <div class="empty">
      <p>There are no deployments yet. Create one with the API or with kubectl, and it appears here.</p>
    </div>
  );
}

import { useEffect, useMemo } from 'preact/hooks';
import type { DeploymentDetails } from '../../../schema/platform/deployment/deployment-summary.ts';
import { StateShown } from '../deployments/state-shown.tsx';
import { formatSource } from '../deployments/source-text.ts';
import { useApp } from '../shell/app.ts';
import { useKeys } from '../shell/keys.ts';
import { wrapLazy } from '../shell/lazy.tsx';
import type { PlaceName } from '../shell/routes.ts';
import { Time } from '../shell/time.tsx';
import { DeploymentDetail } from './deployment-detail.ts';
import { LogView } from '../logs/log-page.tsx';
import { Objects } from './objects.tsx';
import { ResourceShown } from './resource-shown.tsx';
import { Revisions } from './revisions.tsx';
import { Secrets } from './secrets.tsx';
import { Settings } from './settings.tsx';
import { Fault, FoldedText, Button, Select, Skeleton } from '../shell/controls.tsx';
import { Icon } from '../shell/icon.tsx';
import { findReasonMeaning } from './reason-meanings.ts';
import { renderCode } from './rendered-code.tsx';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import type { Revision } from '../../../schema/platform/deployment/revision.ts';
import { ComparedRevisions } from './compared-revisions.tsx';
import { formatRevisionTitle } from './revision-words.ts';

const TABS = {
  deployment: 'Revisions',
  studio: 'Studio',
  logs: 'Logs',
  deploymentUsage: 'Usage',
  objects: 'Pods and events',
  secrets: 'Secrets and key',
  settings: 'Settings',
  resource: 'Resource',
} as const;
type Tab = keyof typeof TABS | 'compare' | 'buildLog' | 'studioPart';

const DeploymentUsage = wrapLazy(
  async () => (await import('../usage/deployment-usage.tsx')).DeploymentUsage,
);
const Studio = wrapLazy(async () => (await import('./studio-tab.tsx')).Studio);

export function DeploymentPage({ id, tab }: { id: string; tab: Tab }) {
  const app = useApp();
  const detail = useMemo(() => new DeploymentDetail(app, id), [id]);
  useEffect(() => detail.follow(), [detail]);
  const { value: details } = detail.details;
  useEffect(() => {
    const part = tab in TABS && tab !== 'deployment' ? `${TABS[tab as keyof typeof TABS]} · ` : '';
    document.title = `${part}${details?.name ?? 'Deployment'} · gx console`;
  }, [details?.name, tab]);
  // Where not all tabs have room, that of this page is in sight.
  useEffect(() => {
    const showTab = (): void =>
      document
        .querySelector('.tabs [aria-current]')
        ?.scrollIntoView({ block: 'nearest', inline: 'center' });
    showTab();
    addEventListener('resize', showTab);
    return () => removeEventListener('resize', showTab);
  }, [details === undefined, tab]);
  useKeys({
    up: () =>
      tab === 'deployment'
        ? app.router.visit('deployments', {})
        : app.router.visit('deployment', { id }),
  });
  if (details === undefined) return <Unread detail={detail} />;
  return (
    <main class={tab === 'studio' || tab === 'studioPart' ? 'deployment full' : 'deployment'}>
      {detail.goneAt.value !== undefined && (
        <p class="note" role="alert">
          This deployment was deleted <Time at={new Date(detail.goneAt.value).toISOString()} />. You
          see it as it last was.{' '}
          <a href={app.router.buildHref('deployments', {})}>Go to the deployments</a>
        </p>
      )}
      <Header detail={detail} isShownBelow={tab === 'deployment'} />
      <nav class="tabs" aria-label="Parts of the deployment">
        {(Object.entries(TABS) as [keyof typeof TABS & PlaceName, string][]).map(
          ([name, label]) => (
            <a
              key={name}
              href={app.router.buildHref(name, { id })}
              aria-current={
                name === tab || (name === 'studio' && tab === 'studioPart') ? 'page' : undefined
              }
            >
              {label}
            </a>
          ),
        )}
      </nav>
      <TabShown detail={detail} tab={tab} />
    </main>
  );
}

function TabShown({ detail, tab }: { detail: DeploymentDetail; tab: Tab }) {
  switch (tab) {
    case 'logs':
    case 'buildLog':
      return <Log detail={detail} />;
    case 'studio':
    case 'studioPart':
      return <Studio detail={detail} />;
    case 'deploymentUsage':
      return <Usage detail={detail} />;
    case 'compare':
      return <Compare detail={detail} />;
    case 'secrets':
      return <Secrets detail={detail} />;
    case 'settings':
      return <Settings detail={detail} />;
    case 'objects':
      return <Objects detail={detail} />;
    case 'resource':
      return <ResourceShown detail={detail} />;
    default:
      return <Revisions detail={detail} />;
  }
}

function Usage({ detail: { id, details } }: { detail: DeploymentDetail }) {
  const { name = 'deployment', asleep_since: asleep = null } = details.value ?? {};
  return <DeploymentUsage id={id} name={name} isAsleep={asleep !== null} />;
}

function Log({ detail }: { detail: DeploymentDetail }) {
  const { place } = useApp().router.located.value;
  const name = detail.details.value?.name ?? 'deployment';
  if (place?.name !== 'buildLog') return <LogView key="agents" id={detail.id} name={name} />;
  const { revision } = place.parameters;
  return <LogView key={revision} id={detail.id} name={`${name}-build`} revision={revision} />;
}

function Unread({ detail }: { detail: DeploymentDetail }) {
  const { router } = useApp();
  if (detail.refused.value === undefined)
    return (
      <main class="deployment">
        <Skeleton lines={5} of="page" />
      </main>
    );
  return (
    <main class="empty">
      <h1 tabIndex={-1}>This deployment can't be shown</h1>
      <Fault text={detail.refused.value} />
      <Button label="Try again" press={() => detail.read()} />
      <a href={router.buildHref('deployments', {})}>Go to the deployments</a>
    </main>
  );
}

/** `isShownBelow`: the page has the newest revision with its own message. */
function Header({ detail, isShownBelow }: { detail: DeploymentDetail; isShownBelow: boolean }) {
  const { value: details } = detail.details;
  if (details === undefined) return null;
  return (
    <header class="about">
      <div class="heading">
        <h1 tabIndex={-1}>{details.name}</h1>
        <StateShown state={details.state} reason={details.reason} suspended={details.suspended} />
        <span class="quiet">
          {details.namespace} · {formatSource(details)}
        </span>
      </div>
      <HeaderActions detail={detail} />
      <Course details={details} />
      <Trouble
        details={details}
        isShownBelow={isShownBelow && detail.revisions.value[0]?.status_message === details.message}
      />
      <Fault text={detail.refused.value} />
    </header>
  );
}

/**
 * Names the trouble in one line, and the remedy. The whole message is folded, and stands with its revision where that
 * is shown.
 */
function Trouble({
  details: { state, reason, message },
  isShownBelow,
}: {
  details: DeploymentDetails;
  isShownBelow: boolean;
}) {
  if (message === null) return null;
  const meaning = findReasonMeaning(reason);
  const isWrong = state === 'failed' || state === 'unavailable';
  if (meaning === undefined && isShownBelow) return null;
  return (
    <div class={isWrong ? 'trouble' : 'trouble mild'}>
      <Icon name={isWrong ? 'alert' : 'clock'} />
      <div>
        {meaning !== undefined && (
          <p>
            <strong>{reason}</strong> · {renderCode(`${meaning.means} ${meaning.remedy}`)}
          </p>
        )}
        {!isShownBelow && meaning === undefined && <FoldedText text={message} />}
        {!isShownBelow && meaning !== undefined && (
          <details>
            <summary class="quiet">The whole message</summary>
            <p>{message}</p>
          </details>
        )}
      </div>
    </div>
  );
}

/** The revision that serves, its threads and its sleep, in sentences. */
function Course({ details }: { details: DeploymentDetails }) {
  const { active_revision: active, url, interrupted_threads: people } = details;
  return (
    <p class="quiet">
      {active === null
        ? 'No revision serves.'
        : `Revision ${active.number} serves${details.image_version === null ? '' : `, version ${details.image_version}`}.`}{' '}
      {people !== null && people > 0 && (
        <>{people === 1 ? 'One thread waits' : `${people} threads wait`} for somebody to answer. </>
      )}
      {details.asleep_since !== null && (
        <>
          Asleep since <Time at={details.asleep_since} isDate />.{' '}
        </>
      )}
      {details.next_due_at !== null && (
        <>
          Next work is due <Time at={details.next_due_at} isToCome />.{' '}
        </>
      )}
      {url !== null && (/^https?:/.test(url) ? <a href={url}>{url}</a> : url)}
    </p>
  );
}

function HeaderActions({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const { value: details } = detail.details;
  const newest = detail.revisions.value[0];
  const path = `v2/deployments/${encodeURIComponent(detail.id)}`;
  const buildPost = (rest: string) => (): Promise<unknown> =>
    calls.fetchJson(`${path}/${rest}`, { method: 'POST' });
  const buildLifecyclePatch = (body: object) => (): Promise<unknown> =>
    calls.fetchJson(`${path}/lifecycle`, { method: 'PATCH', body });
  return (
    <div class="actions">
      {details?.state === 'asleep' && (
        <Button
          class="main"
          disabled={isOff}
          label="Wake"
          title="Starts its pods now, as the next request would"
          press={() => run(buildPost('wake'), 'It is being woken.')}
        />
      )}
      {details?.state === 'hibernated' && (
        <Button
          class="main"
          disabled={isOff}
          label="End hibernation"
          press={() => run(buildLifecyclePatch({ hibernate: null }), 'It is being started.')}
        />
      )}
      {newest?.source === 'git' && (
        <Button
          disabled={isOff}
          label="Build again"
          title="Builds the newest commit, and rolls it out as a new revision"
          press={() => run(buildPost('revisions'), 'A new build was requested.')}
        />
      )}
      {newest !== undefined && (
        <Button
          disabled={isOff}
          label="Redeploy"
          title="Rolls the newest revision out once more, with the same image and settings"
          press={() =>
            run(
              buildPost(`revisions/${newest.id}/redeploy`),
              'The newest revision is being deployed again.',
            )
          }
        />
      )}
      {detail.manager.value !== undefined || refused !== undefined ? (
        <WriteNotes detail={detail} refused={refused} />
      ) : null}
    </div>
  );
}

/** Compares any two revisions. The address names them. */
function Compare({ detail }: { detail: DeploymentDetail }) {
  const { router } = useApp();
  const { place } = router.located.value;
  if (place?.name !== 'compare') return null;
  const { from, to } = place.parameters;
  const { value: revisions } = detail.revisions;
  const [before, after] = [from, to].map((id) => revisions.find((revision) => revision.id === id));
  const options = revisions.map((revision) => [revision.id, formatRevision(revision)] as const);
  return (
    <section class="compare">
      <h2>Compare two revisions</h2>
      <div class="actions">
        <Select
          label="From"
          options={options}
          value={from}
          choose={(id) => router.visit('compare', { id: detail.id, from: id, to })}
        />
        <Select
          label="To"
          options={options}
          value={to}
          choose={(id) => router.visit('compare', { id: detail.id, from, to: id })}
        />
      </div>
      {before === undefined || after === undefined ? (
        <p class="fault">One of these revisions is not among the newest ones, or was deleted.</p>
      ) : (
        <ComparedRevisions
          deployment={detail.id}
          from={from}
          to={to}
          heads={[formatRevisionTitle(before), formatRevisionTitle(after)]}
        />
      )}
    </section>
  );
}

const formatRevision = (revision: Revision): string =>
  `${formatRevisionTitle(revision)} · ${revision.created_at.replace('T', ' ').replace(/\..*|Z$/, '')}`;

/* Series for each alert of the chart, and about whom it fires when. */

export type Labels = Record<string, string>;
/** `at`: the alerts at each time after the beginning of the series, by their labels without the severity. */
type AlertCase = { alert: string; series: Record<string, string>; at: Record<string, Labels[]> };

/** Values for three hours, one a minute. */
const ALWAYS = '1x180';

const chat = (deployment = 'chat', more: Labels = {}): Labels => ({
  namespace: 'team',
  deployment,
  ...more,
});
const print = (name: string, labels: Labels): string =>
  `${name}{${Object.entries(labels)
    .map(([key, value]) => `${key}="${value}"`)
    .join(', ')}}`;
/** Returns a series of a replica of the operator, which reports the conditions of all deployments. */
const stated = (
  deployment: string,
  [condition, status, reason]: State,
  pod = 'operator-1',
): string => print('gx_deployment_condition', chat(deployment, { condition, status, reason, pod }));
const ofChat = (name: string, more: Labels = {}): string =>
  print(name, chat('chat', { pod: 'chat-1', ...more }));

type State = readonly [condition: string, status: string, reason: string];

/** A condition that fires after so long, however many replicas report it, and the states that do not. */
const ofCondition = (
  alert: string,
  bad: State,
  [before, after]: [string, string],
  silent: State[] = [],
): AlertCase => ({
  alert,
  series: {
    [stated('chat', bad)]: ALWAYS,
    [stated('chat', bad, 'operator-2')]: ALWAYS,
    ...Object.fromEntries(silent.map((state, index) => [stated(`silent-${index}`, state), ALWAYS])),
  },
  at: { [before]: [], [after]: [chat()] },
});

const CONDITIONS: AlertCase[] = [
  ofCondition(
    'GxDeploymentNotServing',
    ['Serving', 'False', 'NoReplicaAvailable'],
    ['4m', '6m'],
    [
      ['Serving', 'False', 'Hibernated'],
      ['Serving', 'False', 'Asleep'],
      ['Serving', 'False', 'ScaledToZero'],
      ['Serving', 'False', 'NothingDeployed'],
    ],
  ),
  ofCondition(
    'GxDeploymentNotReady',
    ['Ready', 'False', 'Unschedulable'],
    ['29m', '31m'],
    [
      ['Ready', 'False', 'RollingOut'],
      ['Ready', 'False', 'Hibernating'],
      ['Ready', 'False', 'FallingAsleep'],
      ['Ready', 'False', 'Deleting'],
      ['Ready', 'True', 'Hibernated'],
    ],
  ),
  ofCondition(
    'GxDeploymentStalled',
    ['Stalled', 'True', 'CrashLooping'],
    ['4m', '6m'],
    [
      ['Stalled', 'True', 'RolloutAborted'],
      ['Stalled', 'True', 'Interrupted'],
    ],
  ),
  ofCondition(
    'GxDeletionStuck',
    ['Ready', 'False', 'Deleting'],
    ['14m', '16m'],
    [['Ready', 'False', 'AwaitingBackup']],
  ),
  ofCondition('GxDatabaseNotReady', ['DatabaseReady', 'False', 'DatabaseNotReady'], ['4m', '6m']),
  ofCondition(
    'GxDatabaseVolumeFilling',
    ['VolumeHasRoom', 'False', 'NearlyFull'],
    ['14m', '16m'],
    [['VolumeHasRoom', 'False', 'Full']],
  ),
  ofCondition(
    'GxDatabaseVolumeFull',
    ['VolumeHasRoom', 'False', 'AlmostFull'],
    ['30s', '2m'],
    [['VolumeHasRoom', 'False', 'NearlyFull']],
  ),
  ofCondition(
    'GxBackupMissing',
    ['BackedUp', 'False', 'Overdue'],
    ['9m', '11m'],
    [
      ['BackedUp', 'Unknown', 'NoBackupYet'],
      ['BackedUp', 'False', 'VerificationFailed'],
    ],
  ),
  ofCondition(
    'GxBackupNotVerified',
    ['BackedUp', 'False', 'VerificationFailed'],
    ['9m', '11m'],
    [['BackedUp', 'False', 'Overdue']],
  ),
  ofCondition(
    'GxRestoreFailed',
    ['Restored', 'False', 'KeysMissing'],
    ['30s', '2m'],
    [['Restored', 'Unknown', 'Restoring']],
  ),
  ofCondition(
    'GxRouteRefused',
    ['Routed', 'False', 'HostTaken'],
    ['9m', '11m'],
    [['Routed', 'Unknown', 'NoAddressYet']],
  ),
  ofCondition(
    'GxPasswordNotChanged',
    ['PasswordRotated', 'False', 'CredentialLost'],
    ['59m', '61m'],
  ),
];

const gaveUp = (deployment: string, cause: string): string =>
  print(
    'gx_rollout_given_up_timestamp_seconds',
    chat(deployment, { revision: `${deployment}-00002`, cause }),
  );
const gaveUpAlert = (deployment: string, cause: string): Labels =>
  chat(deployment, { revision: `${deployment}-00002`, cause });

const OBJECTS: AlertCase[] = [
  {
    alert: 'GxRolloutGivenUp',
    series: {
      // By a check at the beginning; by a person; after an hour, until a newer revision is asked for after another one.
      [gaveUp('checked', 'Check')]: '0x3000',
      [gaveUp('asked', 'Person')]: '0x3000',
      [gaveUp('mended', 'Failure')]: '_x59 3600x60 stale',
    },
    at: {
      '30m': [gaveUpAlert('checked', 'Check')],
      '90m': [gaveUpAlert('checked', 'Check'), gaveUpAlert('mended', 'Failure')],
      '150m': [gaveUpAlert('checked', 'Check')],
      '25h': [],
    },
  },
  {
    alert: 'GxDatabaseCertificateExpires',
    series: {
      [ofChat('gx_database_certificate_expiry_timestamp_seconds')]: `${13 * 86_400}x180`,
      [print('gx_database_certificate_expiry_timestamp_seconds', chat('other'))]:
        `${30 * 86_400}x180`,
    },
    at: { '59m': [], '61m': [chat()] },
  },
  {
    alert: 'GxPodsRestart',
    series: {
      [ofChat('gx_pod_restarts', { component: 'api' })]: '1x30 2+1x10 12x60',
      [print('gx_pod_restarts', chat('other', { component: 'api', pod: 'other-1' }))]: '1x40 2x140',
    },
    at: { '20m': [], '41m': [chat('chat', { component: 'api' })], '90m': [] },
  },
];

const AGENTS: AlertCase[] = [
  {
    alert: 'GxRunsWait',
    series: { [ofChat('gx_api_pending_unblocked_runs_wait_time_max_seconds')]: '0x10 310+60x30' },
    at: { '20m': [], '22m': [chat()] },
  },
  {
    alert: 'GxRunsFail',
    series: {
      [ofChat('gx_api_runs_total', { status: 'error' })]: '0+2x180',
      [ofChat('gx_api_runs_total', { status: 'success' })]: '0+1x180',
      [print('gx_api_runs_total', chat('other', { status: 'error' }))]: '0+1x180',
      [print('gx_api_runs_total', chat('other', { status: 'success' }))]: '0+2x180',
    },
    at: { '10m': [], '40m': [chat()] },
  },
  {
    alert: 'GxRunsLost',
    series: { [ofChat('gx_api_runs_lost_total', { outcome: 'continued' })]: '0x30 0+1x5 5x100' },
    at: { '30m': [], '36m': [chat()], '80m': [] },
  },
  {
    alert: 'GxCronsLate',
    series: { [ofChat('gx_api_cron_lag_seconds')]: '0x10 130+60x30' },
    at: { '15m': [], '17m': [chat()] },
  },
  {
    alert: 'GxDatabaseAway',
    series: { [ofChat('gx_database_up')]: '1x10 0x20 1x60' },
    at: { '12m': [], '14m': [chat()], '40m': [] },
  },
  {
    alert: 'GxCollectorAway',
    series: {
      [ofChat('gx_api_spans_dropped_total')]: '0x10 0+5x60',
      [ofChat('gx_api_log_lines_dropped_total')]: '0x180',
    },
    at: { '10m': [], '40m': [chat()] },
  },
];

const WATCH = { pod: 'operator-1', kind: 'Pod', namespace: 'team', selector: 'a=b' };
const requests = (name: string, labels: Labels, each: number): Record<string, string> => ({
  [print(name, { pod: 'p-1', ...labels })]: `0+${each}x180`,
});
const PLATFORM: AlertCase[] = [
  {
    alert: 'GxNoLeader',
    series: {
      [print('leader_election_master_status', { name: 'gx', pod: 'operator-1' })]:
        '1x10 0x20 1x60 stale',
    },
    at: { '9m': [], '14m': [{}], '40m': [], '100m': [{}] },
  },
  {
    alert: 'GxWatchDead',
    series: {
      [print('watch_last_event_age_seconds', WATCH)]: '10x10 70+60x30',
      [print('watch_last_event_age_seconds', { ...WATCH, kind: 'Service' })]: '10x180',
    },
    at: { '10m': [], '13m': [WATCH] },
  },
  {
    alert: 'GxReconcilesPanic',
    series: {
      [print('controller_runtime_reconcile_panics_total', {
        controller: 'deployment',
        pod: 'operator-1',
      })]: '0x10 1x180',
    },
    at: { '10m': [], '12m': [{ controller: 'deployment' }], '90m': [] },
  },
  {
    alert: 'GxApiServerRefuses',
    series: {
      ...requests('rest_client_requests_total', { code: '<error>', method: 'GET' }, 20),
      ...requests('rest_client_requests_total', { code: '200', method: 'GET' }, 80),
      ...requests('rest_client_requests_total', { code: '200', method: 'GET', pod: 'p-2' }, 80),
    },
    at: { '5m': [], '20m': [{ pod: 'p-1' }] },
  },
  {
    alert: 'GxControlPlaneFails',
    series: {
      ...requests('gx_http_request_duration_seconds_count', { status: '503' }, 10),
      ...requests('gx_http_request_duration_seconds_count', { status: '200' }, 90),
      ...requests('gx_http_request_duration_seconds_count', { status: '404', pod: 'p-2' }, 90),
    },
    at: { '5m': [], '20m': [{ pod: 'p-1' }] },
  },
  {
    alert: 'GxCertificateExpires',
    series: {
      [print('gx_control_plane_certificate_expiry_timestamp_seconds', {
        pod: 'p-1',
      })]: `${13 * 86_400}x180`,
      [print('gx_control_plane_certificate_expiry_timestamp_seconds', {
        pod: 'p-2',
      })]: `${30 * 86_400}x180`,
    },
    at: { '59m': [], '61m': [{ pod: 'p-1' }] },
  },
  {
    alert: 'GxExpiredKeyUsed',
    series: {
      [print('gx_control_plane_failed_logins_total', { reason: 'ExpiredKey', pod: 'p-1' })]:
        '0x10 0+1x20 20x100',
      [print('gx_control_plane_failed_logins_total', { reason: 'UnknownKey', pod: 'p-1' })]:
        '0+10x180',
    },
    at: { '10m': [], '20m': [{ reason: 'ExpiredKey' }], '60m': [] },
  },
  {
    alert: 'GxObjectsFaulty',
    series: {
      [print('gx_faulty_objects', { kind: 'Deployment', reason: 'TooDeep', pod: 'p-1' })]:
        '0x10 1x60',
    },
    at: { '15m': [], '22m': [{ kind: 'Deployment', reason: 'TooDeep' }] },
  },
];

export const CASES: AlertCase[] = [...CONDITIONS, ...OBJECTS, ...AGENTS, ...PLATFORM];

/** An installation in which nothing is wrong: deployments that serve, sleep, hibernate, drain and are tried out. */
export const QUIET: Record<string, string> = {
  [print('leader_election_master_status', { name: 'gx', pod: 'operator-1' })]: ALWAYS,
  [print('leader_election_master_status', { name: 'gx', pod: 'operator-2' })]: '0x180',
  [print('watch_last_event_age_seconds', WATCH)]: '20x180',
  ...Object.fromEntries(
    (
      [
        ['serving', ['Ready', 'True', 'Serving']],
        ['serving', ['Serving', 'True', 'Serving']],
        ['asleep', ['Ready', 'True', 'Asleep']],
        ['asleep', ['Serving', 'False', 'Asleep']],
        ['hibernated', ['Ready', 'True', 'Hibernated']],
        ['hibernated', ['Serving', 'False', 'Hibernated']],
        ['hibernated', ['BackedUp', 'Unknown', 'NoBackupYet']],
        ['tried', ['Ready', 'False', 'RollingOut']],
        ['tried', ['Serving', 'True', 'Serving']],
        ['open', ['Unauthenticated', 'True', 'AskedFor']],
        ['open', ['FieldsWithoutEffect', 'True', 'NoGateway']],
      ] as const
    ).map(([name, state]) => [stated(name, state), ALWAYS]),
  ),
  [print('gx_revisions', { namespace: 'team', phase: 'DEPLOYED' })]: '5x180',
  [ofChat('gx_database_up')]: ALWAYS,
  [ofChat('gx_api_pending_unblocked_runs_wait_time_max_seconds')]: '3x180',
  [ofChat('gx_api_cron_lag_seconds')]: '0x180',
  [ofChat('gx_api_runs_total', { status: 'success' })]: '0+3x180',
  [ofChat('gx_api_runs_total', { status: 'error' })]: '0x180',
  // A drained pod is replaced, and one of its runs goes on elsewhere.
  [ofChat('gx_api_runs_lost_total', { outcome: 'continued' })]: '0x60 1x120',
  [ofChat('gx_api_spans_dropped_total')]: '0x180',
  [print('rest_client_requests_total', { code: '200', pod: 'p-1' })]: '0+50x180',
  [print('rest_client_requests_total', { code: '409', pod: 'p-1' })]: '0+5x180',
};

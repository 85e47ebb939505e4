import type { OpenConsole } from '../console/open-console.ts';
import { THREADS } from './fixed-agent.ts';
import { SHOP } from './fixed-platform.ts';
import type { ScreensServer } from './screens-server.ts';

/**
 * The screens of console and studio by which both are judged. Each is drawn in light, in dark and on a phone.
 * `shown`: a text that stands there when it is complete.
 */
export type Screen = {
  name: string;
  path: string;
  shown: string;
  /** The states of the server that differ from those of the other screens. */
  server?: Partial<ScreensServer['state']>;
  /** Brings the page to the screen: clicks, keys, words. */
  act?: (tab: OpenConsole) => Promise<void>;
  /** The pane of the studio that a phone shows. */
  pane?: 'Threads' | 'Chat' | 'Inspector';
};

const shop = (rest = ''): string => `d/${SHOP}${rest}`;
const studio = (part: string): string => shop(`/studio/${part}`);

const showView =
  (name: string) =>
  (tab: OpenConsole): Promise<void> =>
    tab.press(name, '.views');

/** The pictures that docs show: screens in one of their looks. */
export const IN_DOCS: readonly string[] = [
  'deployment-failed-light',
  'deployment-failed-phone',
  'list-dark',
  'list-light',
  'resource-light',
  'studio-answer-light',
  'studio-history-dark',
  'studio-question-light',
  'studio-tools-light',
  'studio-tools-phone',
];

export const SCREENS: readonly Screen[] = [
  { name: 'sign-in', path: '', shown: 'Sign in', server: { isSignedIn: false } },
  { name: 'list', path: '', shown: 'tour-guide' },
  {
    name: 'list-empty',
    path: '',
    shown: 'There are no deployments yet.',
    server: { isEmpty: true },
  },
  { name: 'list-no-match', path: '?q=nothing', shown: 'No deployment passes these filters.' },
  {
    name: 'jump',
    path: '',
    shown: 'support',
    act: async (tab) => {
      await tab.shows('tour-guide');
      await tab.page.click('.find');
      await tab.page.type('dialog input', 's');
    },
  },
  {
    name: 'keys',
    path: '',
    shown: 'Show this list',
    act: async (tab) => {
      await tab.shows('tour-guide');
      await tab.keys('?');
    },
  },
  { name: 'loading', path: shop(), shown: 'Deployments', server: { isSilent: true } },
  { name: 'deployment-failed', path: shop(), shown: 'OPENAI_API_KEY is missing' },
  {
    name: 'roll-back',
    path: shop(),
    shown: 'After the rollback',
    act: (tab) => tab.press('Go back to this (serves now)'),
  },
  {
    name: 'compare',
    path: shop(
      '/compare/dd000000-0000-4000-8000-000000000004/ee000000-0000-4000-8000-000000000005',
    ),
    shown: 'resource_spec.cpu',
  },
  { name: 'pods', path: shop('/pods'), shown: 'BackOff' },
  { name: 'log', path: shop('/logs'), shown: 'run failed' },
  { name: 'usage', path: 'usage', shown: 'translator' },
  { name: 'deployment-usage', path: shop('/usage'), shown: 'claude-sonnet-4-5' },
  { name: 'secrets', path: shop('/secrets'), shown: 'SMTP_PASSWORD' },
  {
    name: 'settings',
    path: shop('/settings'),
    shown: 'When saved',
    act: async (tab) => {
      await tab.until('the form is there', `document.querySelector('[type=number]') !== null`);
      await tab.page.evaluate(`(() => {
        const field = document.querySelector('[type=number]');
        field.value = '300';
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        field.scrollIntoView({ block: 'center' });
      })()`);
    },
  },
  { name: 'resource', path: shop('/resource'), shown: 'kind: Deployment' },
  { name: 'studio-empty', path: studio('new'), shown: 'Say something to agent.' },
  {
    name: 'studio-answer',
    path: studio(THREADS.lisbon),
    shown: 'visitlisboa.example',
    act: async (tab) => {
      await tab.shows('3 steps');
      await tab.page.evaluate(`document.querySelector('.run button').click()`);
      await tab.page.evaluate(`document.querySelector('.log').scrollTo(0, 10_000)`);
    },
  },
  {
    name: 'studio-tools',
    path: studio(THREADS.lisbon),
    shown: 'get_forecast',
    act: async (tab) => {
      await tab.shows('3 steps');
      await tab.page.evaluate(`document.querySelector('.tool').open = true`);
      await tab.page.evaluate(`document.querySelector('.reasoning').open = true`);
      await tab.page.evaluate(`document.querySelector('.log').scrollTo(0, 0)`);
    },
  },
  { name: 'studio-question', path: studio(THREADS.mail), shown: 'It sends a mail in your name.' },
  {
    name: 'studio-edit',
    path: studio(THREADS.mail),
    shown: 'It sends a mail in your name.',
    act: async (tab) => {
      await tab.shows('It sends a mail in your name.');
      await tab.page.click('.decisions label:nth-child(2)');
    },
  },
  {
    name: 'studio-failed',
    path: studio(THREADS.failed),
    shown: 'The amount 0 is no amount.',
    act: async (tab) => {
      await tab.shows('Where it failed');
      await tab.page.evaluate(`document.querySelector('.stack').open = true`);
    },
  },
  { name: 'studio-files', path: studio(THREADS.receipt), shown: 'Cafe Aurora' },
  { name: 'studio-nested', path: studio(THREADS.report), shown: 'Prices fell by 11 %' },
  {
    name: 'studio-state',
    path: studio(THREADS.lisbon),
    shown: 'Ann Weber',
    pane: 'Inspector',
    act: async (tab) => {
      await showView('State')(tab);
      await tab.press('customer', '.json');
      await tab.press('budget', '.json');
    },
  },
  {
    name: 'studio-history',
    path: studio(THREADS.lisbon),
    shown: 'Changed by this step',
    pane: 'Inspector',
    act: showView('History'),
  },
  {
    name: 'studio-runs',
    path: studio(THREADS.lisbon),
    shown: '$0.02',
    pane: 'Inspector',
    act: showView('Runs'),
  },
  {
    name: 'studio-threads',
    path: studio('threads'),
    shown: 'Receipt of the trip',
    pane: 'Threads',
  },
  { name: 'studio-assistants', path: studio('assistants'), shown: 'Night desk' },
  { name: 'studio-store', path: studio('store'), shown: 'trips' },
];

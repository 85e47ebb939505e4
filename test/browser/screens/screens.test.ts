import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import axe from 'axe-core';
import { launch, type Browser } from '../chromium.ts';
import { OpenConsole } from '../console/open-console.ts';
import { NOW } from './fixed-platform.ts';
import { readFontScript } from './fonts.ts';
import { IN_DOCS, SCREENS, type Screen } from './screens.ts';
import { serveScreens, type ScreensServer } from './screens-server.ts';

/*
 * The screens of console and studio, drawn from fixed data. With GX_SCREENS=folder the pictures are written there, to
 * be looked at, and with GX_WRITE_PICTURES=1 docs get theirs.
 */

const LEAST_BYTES = 4000;
const LOOKS = [
  { look: 'light', theme: 'light', width: 1280, height: 720 },
  { look: 'dark', theme: 'dark', width: 1280, height: 720 },
  { look: 'phone', theme: 'light', width: 390, height: 844 },
] as const;

/** The page believes that it is this time. Motion is off, so that each picture shows an end. */
const CLOCK = `(() => {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) { given.length === 0 ? super(${Date.parse(NOW)}) : super(...given); }
    static now() { return ${Date.parse(NOW)}; }
  };
})()`;

let server: ScreensServer;
let browser: Browser;
let fonts: string;
beforeAll(async () => {
  const { chromium, packages } = inject('browser');
  [server, browser, fonts] = await Promise.all([
    serveScreens(),
    launch(chromium, packages),
    readFontScript(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  server?.stop();
});

async function open({ path, act, shown, server: own }: Screen): Promise<OpenConsole> {
  Object.assign(server.state, { isSignedIn: true, isSilent: false, isEmpty: false, ...own });
  const tab = await OpenConsole.open(browser, 'about:blank');
  await tab.session.send('Page.enable');
  await tab.session.send('Page.addScriptToEvaluateOnNewDocument', { source: CLOCK });
  await tab.session.send('Page.addScriptToEvaluateOnNewDocument', { source: fonts });
  await tab.session.send('Emulation.setTimezoneOverride', { timezoneId: 'UTC' });
  await tab.session.send('Emulation.setFocusEmulationEnabled', { enabled: true });
  await setTheme(tab, 'light');
  await tab.resize(1280, 720);
  await tab.page.goto(`${server.url}${path}`);
  await act?.(tab);
  await tab.shows(shown);
  return tab;
}

const setTheme = async (tab: OpenConsole, theme: string): Promise<void> =>
  void (await tab.session.send('Emulation.setEmulatedMedia', {
    features: [
      { name: 'prefers-color-scheme', value: theme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ],
  }));

async function draw(tab: OpenConsole): Promise<Buffer> {
  await tab.page.evaluate(
    'document.activeElement?.matches("dialog *") || document.activeElement?.blur()',
  );
  const asked = { format: 'png' };
  const { data } = (await tab.session.send('Page.captureScreenshot', asked)) as { data: string };
  return Buffer.from(data, 'base64');
}

const PICTURES = new URL('../../../docs/how-to/pictures/', import.meta.url);

function keep(picture: Buffer, name: string): void {
  if (IN_DOCS.includes(name) && process.env['GX_WRITE_PICTURES'] === '1')
    writeFileSync(new URL(`${name}.png`, PICTURES), picture);
  const folder = process.env['GX_SCREENS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.png`), picture);
}

/** The page itself never scrolls sideways; tables and code do so by themselves. */
const OVERFLOW = `(() => {
  const { scrollWidth } = document.documentElement;
  return scrollWidth > innerWidth ? [\`the page is \${scrollWidth} wide\`] : [];
})()`;

test.each(SCREENS)('$name is drawn in light, in dark and on a phone', async (screen) => {
  const tab = await open(screen);
  const faults: string[] = [];
  for (const { look, theme, width, height } of LOOKS) {
    await setTheme(tab, theme);
    await tab.resize(width, height);
    if (look === 'phone' && screen.pane !== undefined) await tab.press(screen.pane, '.pane-switch');
    const picture = await draw(tab);
    expect(picture.length).toBeGreaterThan(LEAST_BYTES);
    keep(picture, `${screen.name}-${look}`);
    faults.push(...(await tab.page.evaluate<string[]>(OVERFLOW)));
    // The dark look and the one of a phone have both themes and both layouts between them.
    if (look !== 'light') faults.push(...(await tab.accessibilityFaults(axe.source)));
  }
  expect([...faults, ...tab.failures]).toEqual([]);
  await tab.close();
});

test('docs have their pictures', () => {
  const names = SCREENS.flatMap(({ name }) => LOOKS.map(({ look }) => `${name}-${look}`));
  expect(names).toEqual(expect.arrayContaining([...IN_DOCS]));
  for (const name of IN_DOCS)
    expect(statSync(new URL(`${name}.png`, PICTURES)).size).toBeGreaterThan(LEAST_BYTES);
});

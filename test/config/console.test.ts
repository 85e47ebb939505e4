import { expect, test } from 'vitest';
import { readConsoleConfig } from '../../src/config/platform/console.ts';

test('the address of the control plane may have a path, and no credentials, query or other scheme', () => {
  expect(
    readConsoleConfig({ GX_CONTROL_PLANE_URL: 'https://gx.example.com/api' }).controlPlaneUrl
      .pathname,
  ).toBe('/api');
  for (const url of [
    'gx.example.com',
    'ftp://gx.example.com',
    'http://user:word@gx.example.com',
    'http://gx.example.com?a=b',
  ])
    expect(() => readConsoleConfig({ GX_CONTROL_PLANE_URL: url })).toThrow(
      /GX_CONTROL_PLANE_URL must be an address of http or https/,
    );
  expect(() => readConsoleConfig({})).toThrow(
    'GX_CONTROL_PLANE_URL is not set (where the control plane answers)',
  );
});

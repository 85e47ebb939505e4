/** Features of browsers that the page uses none of. */
const UNUSED = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'midi',
].concat(['payment', 'serial', 'usb']);

/**
 * The rules of a page of ours: it runs its server's own files alone, talks to its server alone, is shown in no other
 * page, and writes no HTML that it was given as text.
 */
const PAGE_RULES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "frame-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
  "object-src 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache',
  'content-security-policy': PAGE_RULES,
  'permissions-policy': UNUSED.map((feature) => `${feature}=()`).join(', '),
  'x-frame-options': 'DENY',
};

/** Features of browsers that the page uses none of. */
const UNUSED = ['accelerometer', 'camera', 'display-capture', 'geolocation', 'gyroscope', 'magnetometer', 'microphone', 'midi'].concat([
  'payment',
  'serial',
  'usb',
]);

/**
 * The rules of the page: it runs the console's own files alone, talks to the console alone, is shown in no other page,
 * and writes no HTML that it was given as text.
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

/** Headers of every answer. One that is opened as a page of its own does nothing. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Headers of the page besides. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache',
  'content-security-policy': PAGE_RULES,
  'permissions-policy': UNUSED.map((feature) => `${feature}=()`).join(', '),
  'x-frame-options': 'DENY',
};

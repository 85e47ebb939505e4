import { signal, type Signal } from '@preact/signals';

const KEY = 'gx-studio-inspector';
export const LEAST_PIXELS = 280;
export const MOST_PIXELS = 720;
const USUAL_PIXELS = 380;

export type InspectorLook = { width: number; isOpen: boolean };

export const limitWidth = (width: number): number =>
  Math.round(Math.min(MOST_PIXELS, Math.max(LEAST_PIXELS, width)));

/** Returns how wide the inspector is and whether it is open, as this browser has kept it. */
export function readInspectorLook(): Signal<InspectorLook> {
  const look = signal<InspectorLook>({ width: USUAL_PIXELS, isOpen: true });
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    const { width, isOpen } = kept as { width?: unknown; isOpen?: unknown };
    look.value = {
      width: typeof width === 'number' ? limitWidth(width) : USUAL_PIXELS,
      isOpen: isOpen !== false,
    };
  } catch {
    // A browser that refuses storage has the usual look.
  }
  return look;
}

/** Keeps a look for the next visit. A browser may refuse; the look then lasts as long as the page. */
export function keepInspectorLook(look: InspectorLook): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(look));
  } catch {
    // It is lost with the page.
  }
}

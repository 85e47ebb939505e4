import { Pace } from './pace.ts';

/** Letters of a piece. Work on one piece takes less than a millisecond. */
const PIECE = 2 ** 18;

/** Bytes that are decoded at once. */
const DECODED = 2 ** 16;

export type TextPiece = { text: string; start: number };

/** A text of any length in pieces. One string of all of it would be copied at once, and hold up the page. */
export class PiecedText {
  readonly length: number;
  readonly #pieces: readonly string[];
  readonly #size: number;

  /** Each piece but the last one has so many letters. */
  private constructor(pieces: readonly string[], size: number) {
    this.#pieces = pieces;
    this.#size = size;
    this.length =
      pieces.length === 0 ? 0 : (pieces.length - 1) * size + (pieces.at(-1) ?? '').length;
  }

  static splitText(text: string, size = PIECE): PiecedText {
    const count = Math.ceil(text.length / size);
    return new PiecedText(
      Array.from({ length: count }, (_, at) => text.slice(at * size, (at + 1) * size)),
      size,
    );
  }

  /** Reads the body of an answer, and lets the page do something else meanwhile: pieces that are there come at once. */
  static async readBody({ body }: Pick<Response, 'body'>): Promise<PiecedText> {
    const reader = body?.getReader();
    const [decoder, pace, pieces] = [new TextDecoder(), new Pace(), [] as string[]];
    let rest = '';
    const add = (text: string): void => {
      for (rest += text; rest.length >= PIECE; rest = rest.slice(PIECE))
        pieces.push(rest.slice(0, PIECE));
    };
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      const bytes: Uint8Array = read.value;
      for (let at = 0; at < bytes.length; at += DECODED) {
        add(decoder.decode(bytes.subarray(at, at + DECODED), { stream: true }));
        await pace.keep();
      }
    }
    add(decoder.decode());
    return new PiecedText(rest === '' ? pieces : [...pieces, rest], PIECE);
  }

  /** Returns the piece that has this place; an empty one behind the end. */
  getPiece(place: number): TextPiece {
    const at = Math.floor(place / this.#size);
    return { text: this.#pieces[at] ?? '', start: at * this.#size };
  }

  /** Returns the letter at a place; nothing behind the end. */
  getLetter(place: number): string {
    const { text, start } = this.getPiece(place);
    return text.charAt(place - start);
  }

  /** Returns the place of the next letter that the pattern finds in this piece; undefined where there is none. */
  findInPiece(pattern: RegExp, from: number): number | undefined {
    const { text, start } = this.getPiece(from);
    pattern.lastIndex = from - start;
    const found = pattern.exec(text);
    return found === null ? undefined : start + found.index;
  }

  /** Returns the place of the next letter that the pattern finds, or the end of the text. */
  find(pattern: RegExp, from: number): number {
    for (let at = from; at < this.length; at = this.findPieceEnd(at)) {
      const found = this.findInPiece(pattern, at);
      if (found !== undefined) return found;
    }
    return this.length;
  }

  findPieceEnd(place: number): number {
    const { text, start } = this.getPiece(place);
    return text === '' ? this.length : start + text.length;
  }

  /** Returns the place behind the last letter that is no space. */
  findTextEnd(): number {
    const full = this.#pieces.findLastIndex((piece) => piece.trimEnd() !== '');
    return full < 0 ? 0 : full * this.#size + (this.#pieces[full] ?? '').trimEnd().length;
  }

  getSlice(from: number, to: number): string {
    return [...this.listSlices(from, to)].join('');
  }

  /** Yields a part of the text as pieces. */
  *listSlices(from: number, to: number): Generator<string> {
    const end = Math.min(to, this.length);
    for (let at = from; at < end; at = this.findPieceEnd(at)) {
      const { text, start } = this.getPiece(at);
      yield text.slice(at - start, end - start);
    }
  }
}

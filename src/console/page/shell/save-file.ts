/** Saves parts of a text as a file of the reader's machine. */
export const saveFile = (parts: string[], { name, type }: { name: string; type: string }): void =>
  saveBlob(new Blob(parts, { type }), name);

/** Saves bytes as a file of the reader's machine. Whatever they say they are, the browser opens nothing of them. */
export const saveBytes = (bytes: Uint8Array<ArrayBuffer>, name: string): void =>
  saveBlob(new Blob([bytes], { type: 'application/octet-stream' }), name);

function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

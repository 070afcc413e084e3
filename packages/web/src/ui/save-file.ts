/** Downloads a blob as a file. */
export function saveFile(bytes: Blob, filename: string): void {
  const address = URL.createObjectURL(bytes);
  saveAddress(address, filename);
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Downloads an address of this server, which works without a header. */
export function saveAddress(address: string, filename: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = filename;
  link.click();
}

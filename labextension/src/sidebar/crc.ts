/** Whether a cell still has the text that ran, told by 32 bits: the kernel does not send texts. */

const POLYNOMIAL = 0xedb88320;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) {
    value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  }
  return value;
});
const encoder = new TextEncoder();

/**
 * What `zlib.crc32` says of the text in UTF-8.
 *
 * Not a digest: the browser's own are asynchronous, and missing where a page came over plain http.
 */
export function crc32(text: string): number {
  let value = 0xffffffff;
  for (const byte of encoder.encode(text)) {
    value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}

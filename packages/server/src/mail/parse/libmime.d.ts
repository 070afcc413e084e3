declare module 'libmime' {
  const libmime: {
    /** RFC 2047 words in a header's value, decoded; adjacent words of one charset are joined before they are decoded. */
    decodeWords(value: string): string;
  };
  export = libmime;
}

/** Texts of fields of the type `file`. */
export const files = {
  choose: (several: boolean) => (several ? 'Choose files' : 'Choose a file'),
  replace: 'Choose another file',
  chooseFor: (action: string, field: string) => `${action}: ${field}`,
  drop: (several: boolean) => (several ? 'or drop files here.' : 'or drop it here.'),
  accepts: (types: string) => `Accepted: ${types}.`,
  maxSize: (size: string, several: boolean) => (several ? `At most ${size} each.` : `At most ${size}.`),
  maxCount: (n: number) => (n === 1 ? 'At most 1 file.' : `At most ${n} files.`),
  remove: (name: string) => `Remove ${name}`,
  cancel: (name: string) => `Cancel the upload of ${name}`,
  progressOf: (name: string) => `Upload of ${name}`,
  uploadingHint: 'You can save when the upload has finished.',
  uploaded: (name: string) => `${name} was uploaded. Save the record to keep it.`,
  download: (name: string) => `Download ${name}`,
  gallery: {
    open: (name: string) => `Show ${name}`,
    title: (name: string) => `Preview of ${name}`,
    position: (index: number, count: number) => `${index} of ${count}`,
    previous: 'Previous file',
    next: 'Next file',
    loading: 'Loading the file…',
    failed: 'The file cannot be displayed.',
    noPdfViewer: 'This browser does not display PDF files. Download the file instead.',
    beginning: 'This is the beginning of the file. Download it to read all of it.',
    close: 'Close',
  },
  noPermission: 'Your role cannot upload files. It needs the permission "create" on "files".',
  problems: {
    type: (name: string, type: string, accepted: string) =>
      `${name} was not added: its type is ${type}, and this field accepts ${accepted}.`,
    size: (name: string, size: string, max: string) =>
      `${name} was not added: it has ${size}, and at most ${max} are allowed.`,
    count: (name: string, max: number) =>
      max === 1
        ? `${name} was not added: this field takes one file.`
        : `${name} was not added: this field takes at most ${max} files.`,
    failed: (name: string, message: string) => `${name} was not uploaded: ${message}`,
  },
};

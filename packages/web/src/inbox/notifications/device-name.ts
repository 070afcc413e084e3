/** Browsers by their names in user agents. A browser that imitates others names itself first here. */
const browsers: readonly (readonly [token: string, name: string])[] = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
];

/** The browser and system of a device, such as `Firefox on Linux`. */
export function describeDevice(userAgent: string): string {
  const browser = browsers.find(([token]) => userAgent.includes(token))?.[1] ?? 'Browser';
  const system = /Android|iPhone|iPad|Windows|Mac OS|Linux/.exec(userAgent)?.[0];
  return system === undefined ? browser : `${browser} on ${system}`;
}

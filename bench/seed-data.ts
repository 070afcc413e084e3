/** The same rows for the server and its yardstick. */
export const userCount = 1000;
export const postCount = 100_000;

export interface Post {
  readonly title: string;
  readonly body: string;
  readonly views: number;
  readonly published: boolean;
  /** From 1 to {@link countUsers}. */
  readonly author: number;
}

export function userAt(index: number): { name: string; email: string; nickname: string } {
  return { name: `User ${index}`, email: `user${index}@example.com`, nickname: `u${index}` };
}

export function postAt(index: number): Post {
  return {
    title: `Post number ${index}`,
    body: `Body of post ${index}: `.padEnd(220, 'lorem ipsum dolor sit amet '),
    views: (index * 7919) % 10_000,
    published: index % 2 === 0,
    author: 1 + (index % userCount),
  };
}

/** One post a second from 2025 on: when each was created, for the yardstick. */
export function createdAt(index: number): string {
  return new Date(Date.UTC(2025, 0, 1) + index * 1000).toISOString();
}

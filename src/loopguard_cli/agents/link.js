// The bridges' end of the connection to the supervisor, the same for every agent that runs JavaScript.
//
// One kept socket, one JSON object a line. Without a connection nothing is asked and nothing waits:
// the agent runs on as if we were not there. What is said between greeting and welcome waits for the
// welcome, for the supervisor is there. `runtime/reach/bridges.py` is the other end.
import { createHash } from "node:crypto"
import net from "node:net"

const STRING_LIMIT = 131072 // characters of one string; longer ones travel as head, length and digest
const HEAD = 4096
const DEPTH_LIMIT = 16
const UNSENT_LIMIT = 32 << 20 // bytes waiting for a supervisor that does not read: give it up
const HELD_LIMIT = 1000 // messages waiting for the welcome; further ones are missed, but no question is
const RETRY_MS = [100, 200, 500, 1000, 2000, 5000]

export const FOREVER_MS = 2 ** 31 - 1 // the longest that a timer takes

/** What the supervisor put into our environment. It is taken out at once, so that the agent's own shell
 *  neither finds the token nor inherits settings that were meant for this process only. */
export const takeBoot = () => {
  const text = process.env.LOOPGUARD_BRIDGE
  delete process.env.LOOPGUARD_BRIDGE
  if (!text) return undefined
  const value = JSON.parse(text)
  for (const [name, before] of Object.entries(value.restore ?? {})) {
    if (before === null) delete process.env[name]
    else process.env[name] = before
  }
  return value
}

/** Keep a map from growing with the run: the oldest entries go first. */
export const remember = (map, key, value, limit = 2000) => {
  map.delete(key)
  map.set(key, value)
  if (map.size > limit) map.delete(map.keys().next().value)
}

/** A copy without overlong strings and bottomless nesting. */
export const bound = (value, depth = 0) => {
  if (typeof value === "string" && value.length > STRING_LIMIT) {
    const digest = createHash("sha256").update(value).digest("hex")
    return { $cut: value.slice(0, HEAD), chars: value.length, digest }
  }
  if (value === null || typeof value !== "object") return value
  if (depth >= DEPTH_LIMIT) return { $cut: "", chars: -1, digest: "" }
  if (Array.isArray(value)) return value.map((item) => bound(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, bound(item, depth + 1)]))
}

export const pick = (value, ...names) => Object.fromEntries(names.filter((n) => value?.[n] !== undefined).map((n) => [n, value[n]]))

export const describe = (error) => String(error?.data?.message ?? error?.message ?? error?.name ?? error).slice(0, 500)

/** What does not come within `ms` is undefined. */
export const within = (ms, promise) => {
  let timer
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

export class Link {
  #boot
  #agent
  #socket
  #waiting = new Map() // question -> resolve
  #deltas = new Map() // text held back while the socket is full
  #full = false
  #ready = false
  #greeting = false // a connection is being made, and neither welcome nor refused yet
  #held = [] // what was said meanwhile
  #attempts = 0
  #missed = 0
  #told = 0 // of the missed, by the last greeting
  #ids = 0
  #token
  #input = ""
  #opened
  welcomed

  /** `agent`: `version()` for the greeting, `perform(order)`, and `resync()` for the state after a lost
   *  connection. They are looked up each time, so that they may be replaced. */
  constructor(boot, agent) {
    this.#boot = boot
    this.#agent = agent
    this.#token = boot.token
    this.welcomed = new Promise((resolve) => (this.#opened = resolve))
    this.#connect()
  }

  #connect() {
    const { unix, host, port, token } = this.#boot
    const socket = net.createConnection(unix ? { path: unix } : { host, port })
    this.#socket = socket
    this.#greeting = true
    socket.setEncoding("utf8")
    socket.setNoDelay?.(true)
    socket.on("connect", async () => {
      socket.unref()
      this.#told = this.#missed
      const hello = { type: "hello", protocol: 1, token: this.#token, pid: process.pid, pulse: true, reconnected: this.#token !== token, missed: this.#missed }
      socket.write(JSON.stringify({ ...hello, version: await this.#agent.version() }) + "\n")
    })
    socket.on("data", (chunk) => this.#receive(chunk))
    socket.on("drain", () => this.#drained())
    socket.on("error", () => {})
    socket.on("close", () => this.#closed(socket))
  }

  #closed(socket) {
    if (socket !== this.#socket) return
    this.#ready = this.#full = this.#greeting = false
    this.#missed += this.#held.length
    this.#held = []
    this.#input = ""
    this.#deltas.clear()
    for (const resolve of this.#waiting.values()) resolve(undefined)
    this.#waiting.clear()
    const wait = RETRY_MS[Math.min(this.#attempts++, RETRY_MS.length - 1)]
    setTimeout(() => this.#connect(), wait).unref()
  }

  #receive(chunk) {
    const lines = (this.#input + chunk).split("\n")
    this.#input = lines.pop()
    for (const line of lines) {
      let message
      try { message = JSON.parse(line) } catch { continue }
      if (message.type === "welcome") this.#welcome(message)
      else if (message.type === "answer") this.#waiting.get(message.id)?.(message)
      else if (message.type === "order") this.#perform(message)
      else if (message.type === "ping") this.send({ type: "pong" })
    }
  }

  async #welcome(message) {
    this.#token = message.token
    this.#ready = true
    this.#greeting = false
    this.#attempts = 0
    this.#missed -= this.#told
    for (const held of this.#held.splice(0)) this.#write(held)
    for (const order of message.orders ?? []) await this.#perform(order)
    this.#opened()
    if (message.resync) this.send({ type: "resync", busy: await this.#agent.resync() })
  }

  async #perform(order) {
    const done = Promise.resolve(order).then((order) => this.#agent.perform(order))
    const result = await done.then((data) => ({ ok: true, data }), (error) => ({ ok: false, error: describe(error) }))
    if (order.id) this.send({ type: "done", id: order.id, ...result })
  }

  /** Send without waiting. Nothing but text deltas is ever merged. */
  send(message) {
    if (!this.#ready) return this.#hold(message)
    this.#flush()
    this.#write(message)
  }

  /** Text may arrive in fewer, longer pieces when the supervisor is slow; its order is kept.
   *  `join(held, message)` adds a later piece with the same `key` to one that is held back. */
  delta(key, message, join) {
    if (!this.#ready) return this.#hold(message)
    if (!this.#full) return this.#write(message)
    const held = this.#deltas.get(key)
    if (held) join(held, message)
    else this.#deltas.set(key, message)
  }

  #hold(message) {
    if (this.#greeting && (this.#held.length < HELD_LIMIT || message.id !== undefined)) this.#held.push(message)
    else this.#missed++
  }

  #flush() {
    for (const message of this.#deltas.values()) this.#write(message)
    this.#deltas.clear()
  }

  #write(message) {
    if (!this.#socket.write(JSON.stringify(message) + "\n")) this.#full = true
    if (this.#socket.writableLength > UNSENT_LIMIT) this.#socket.destroy()
  }

  #drained() {
    this.#full = false
    if (this.#ready) this.#flush()
  }

  /** Ask the supervisor. Undefined when it is away, goes away, or does not answer in time. */
  ask(question, timeout) {
    if (!this.#ready && !this.#greeting) return Promise.resolve(undefined)
    const id = ++this.#ids
    return new Promise((resolve) => {
      const settle = (answer) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve(answer)
      }
      const timer = setTimeout(settle, timeout)
      this.#waiting.set(id, settle)
      this.send({ ...question, id })
    })
  }
}

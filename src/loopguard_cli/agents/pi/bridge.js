// The bridge: a pi extension that connects the agent to its supervisor.
//
// It carries no judgement of its own. What happens goes out, with the questions (the gate before each
// tool call, agent tools, slash commands); answers and orders come in. Without a connection the agent
// runs on as if the bridge were not there.
//
// pi loads an extension anew with each session and each /reload, so what has to outlast a session hangs
// on the process.
import { Link, FOREVER_MS, bound, remember, takeBoot, within } from "../link.js"

const PACKAGES = ["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"]
const CHANNELS = { text_delta: "text", thinking_delta: "reasoning" }

const shared = (globalThis[Symbol.for("loopguard.pi")] ??= {
  boot: takeBoot(),
  agent: {}, // how the present session is reached; see Link
  link: undefined,
  contexts: new Map(), // session -> text for its system prompt
  numbers: 0, // of messages, which have no names here until they are stored
  ended: false, // the run is over: nothing more is to be begun
})
const { boot } = shared

const version = async () => {
  for (const name of PACKAGES) {
    const found = await import(name).catch(() => undefined)
    if (found?.VERSION) return String(found.VERSION)
  }
  return ""
}

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).filter((c) => c.type === "text").map((c) => c.text).join("\n")

class Session {
  constructor(pi) {
    this.pi = pi
    this.ctx = undefined
    this.user = this.reply = "" // the newest message of each kind
    this.calls = new Map() // call -> its arguments
    this.queued = [] // what was typed into a running turn, and is announced already
    this.foreign = [] // texts of user messages that another extension writes
    this.stopping = undefined // the turn is being stopped by us: until it is over
  }

  get id() {
    return this.ctx.sessionManager.getSessionId()
  }

  /** A run that ends when its prompts are answered, whatever the supervisor still wants. */
  get oneShot() {
    return this.ctx.mode === "print" || this.ctx.mode === "json"
  }

  send(type, fields) {
    shared.link.send({ type, session: this.id, ...fields })
  }

  // --- what happens ---------------------------------------------------------------------------

  async started(ctx) {
    this.ctx = ctx
    Object.assign(shared.agent, { version, perform: (order) => this.perform(order), resync: async () => ({ [this.id]: ctx.isIdle() ? "idle" : "busy" }) })
    shared.link ??= new Link(boot, shared.agent)
    await within(boot.gate_timeout_ms, shared.link.welcomed) // nothing shall happen unseen
    this.send("session", { directory: ctx.cwd })
  }

  /** A message begins: of a person, of ours, or of the model. */
  began({ message }) {
    const name = `${message.role}.${++shared.numbers}`
    if (message.role === "assistant") {
      this.reply = name
      const model = message.provider && message.model ? `${message.provider}/${message.model}` : ""
      this.send("reply", { message: name, answers: this.user, model })
    } else if (message.role === "custom" && message.details?.loopguard) {
      this.user = name
      this.send("user", { message: name, effect: message.details.loopguard, text: bound(textOf(message.content)) })
    } else if (message.role === "user") {
      const text = textOf(message.content)
      const announced = this.queued.findIndex((queued) => queued.text === text)
      this.user = announced < 0 ? name : this.queued.splice(announced, 1)[0].name
      if (announced < 0) this.spoke(text, name)
    }
  }

  spoke(text, name) {
    const at = this.foreign.indexOf(text)
    if (at >= 0) this.foreign.splice(at, 1)
    this.send("user", { message: name, text: bound(text), foreign: at >= 0 })
  }

  /** Something was typed. In a running turn the model reads it later; that it was said counts now.
   *  If it ends the turn, it begins the next one instead of waiting in a queue that nobody reads. */
  async typed({ text, source, streamingBehavior }) {
    if (shared.ended) return { action: "handled" }
    if (source === "extension") this.foreign = [...this.foreign.slice(-9), text]
    if (!streamingBehavior) return
    const name = `user.${++shared.numbers}`
    this.queued = [...this.queued.slice(-9), { name, text }]
    this.spoke(text, name)
    await shared.link.ask({ type: "sync" }, boot.gate_timeout_ms)
    if (this.stopping) await within(boot.gate_timeout_ms, this.stopping.over)
  }

  streamed({ assistantMessageEvent: { type, contentIndex, delta } }) {
    const channel = CHANNELS[type]
    if (!channel || !delta) return
    const message = { type: "text", session: this.id, message: this.reply, part: `${this.reply}.${contentIndex}`, channel, delta }
    shared.link.delta(message.part, message, (held, next) => (held.delta += next.delta))
  }

  finished({ message }) {
    if (message.role !== "assistant") return
    const { input, output, reasoning, cacheRead, cacheWrite, totalTokens, cost } = message.usage ?? {}
    this.send("replied", {
      message: this.reply, reason: message.stopReason, error: bound(message.errorMessage ?? ""),
      usage: { input, output, reasoning, cache_read: cacheRead, cache_write: cacheWrite, total: totalTokens, cost: cost?.total },
    })
  }

  async gate({ toolName: tool, toolCallId: call, input }) {
    const question = { type: "gate", session: this.id, call, tool, args: bound(input ?? {}) }
    const answer = await shared.link.ask(question, boot.gate_timeout_ms)
    if (answer?.allow === false) return { block: true, reason: answer.text }
  }

  called({ toolCallId, args }) {
    remember(this.calls, toolCallId, args)
  }

  returned({ toolCallId: call, toolName: tool, result, isError }) {
    const args = bound(this.calls.get(call) ?? {})
    this.calls.delete(call)
    const exit = result?.structuredContent?.exit_code
    this.send("tool", {
      call, tool, args, message: this.reply, ok: !isError, output: bound(textOf(result?.content)),
      stopped: this.ctx.signal?.aborted === true, ...(Number.isInteger(exit) && { exit }),
    })
  }

  /** Before 0.80 pi does not tell when it has settled, and cannot be kept. */
  ended({ messages }) {
    if (this.ctx.mode === undefined) return this.settles(messages.at(-1)?.stopReason === "aborted")
  }

  /** The turn is over. A run that would end now waits until the supervisor wants nothing more of it;
   *  what it wants is begun when this returns, and pi waits for that as well. */
  async settles(aborted) {
    setImmediate(this.stopping?.done ?? (() => {})) // when pi has taken note of it as well
    this.stopping = undefined
    if (!this.oneShot) return this.send("settled", { aborted })
    const answer = await shared.link.ask({ type: "settled", session: this.id, aborted }, FOREVER_MS)
    shared.ended ||= answer?.end === true
    if (answer?.prompt) this.prompt(answer.prompt)
  }

  // --- what the supervisor wants ---------------------------------------------------------------

  /** Ours is a message of its own kind: it bears the mark by which it is known again. */
  prompt({ id, text, hint }) {
    if (hint && this.ctx.isIdle()) throw new Error("no turn is running")
    const message = { customType: "loopguard", content: text, display: true, details: { loopguard: id } }
    this.pi.sendMessage(message, { triggerTurn: true, ...(hint && { deliverAs: "steer" }) })
  }

  stop() {
    if (this.ctx.isIdle()) return "idle"
    if (!this.stopping) {
      const stopping = (this.stopping = {})
      stopping.over = new Promise((resolve) => (stopping.done = resolve))
    }
    this.ctx.abort()
  }

  async perform(order) {
    switch (order.op) {
      case "abort": return this.stop()
      case "read": return { status: this.ctx.isIdle() ? "idle" : "busy" }
      case "prompt": return this.prompt(order)
      case "toast": return this.ctx.ui.notify(order.text, order.level)
      case "context": return remember(shared.contexts, order.session, order.system)
      default: throw new Error("unknown order " + order.op)
    }
  }

  /** A section of its own where pi has sections: then only that is sent anew when it changes. */
  instruct({ systemPrompt, systemPromptOptions: options }) {
    const text = shared.contexts.get(this.id)
    if (options?.sections) {
      if (text) options.sections.loopguard = text
      else delete options.sections.loopguard
    } else if (text) return { systemPrompt: `${systemPrompt}\n\n${text}` }
  }

  async command(name, text, ctx) {
    const question = { type: "ask", session: this.id, operation: name, arguments: { text }, surface: "slash" }
    const answer = await shared.link.ask(question, boot.ask_timeout_ms)
    const said = answer?.text || (answer ? "Done." : "The supervisor is not connected.")
    if (ctx.hasUI) ctx.ui.notify(said, answer?.ok ? "info" : "warning")
    else process.stderr.write(said + "\n")
  }

  tool({ name, description, parameters, patience_ms }) {
    return {
      name, label: name, description, parameters,
      execute: async (_, given) => {
        const question = { type: "ask", session: this.id, operation: name, arguments: bound(given ?? {}), surface: "tool" }
        const answer = await shared.link.ask(question, patience_ms)
        const text = answer ? answer.text : "The supervisor is not connected; nothing was done."
        return { content: [{ type: "text", text }], details: {} }
      },
    }
  }
}

export default function loopguard(pi) {
  if (!boot) return // an agent inside a guarded agent: its supervisor is not ours
  const session = new Session(pi)
  const on = (event, handle) => pi.on(event, (...given) => (session.ctx ? handle(...given) : undefined))
  pi.on("session_start", (_, ctx) => session.started(ctx))
  on("before_agent_start", (event) => session.instruct(event))
  on("input", (event) => session.typed(event))
  on("agent_start", () => session.send("busy", {}))
  on("message_start", (event) => session.began(event))
  on("message_update", (event) => session.streamed(event))
  on("message_end", (event) => session.finished(event))
  on("tool_execution_start", (event) => session.called(event))
  on("tool_call", (event) => session.gate(event))
  on("tool_execution_end", (event) => session.returned(event))
  on("agent_end", (event) => session.ended(event))
  on("agent_settled", (event) => session.settles(event.aborted === true))
  on("session_before_compact", () => session.send("compacting", {}))
  on("session_compact", () => session.send("compacted", {}))
  for (const tool of boot.tools) pi.registerTool(session.tool(tool))
  for (const { name, description } of boot.commands)
    pi.registerCommand(name, { description, handler: (text, ctx) => session.command(name, text, ctx) })
}

"""Sessions in the clothes of agent frameworks. Each module needs its framework, which the extra of the same name installs (`pip install interp[langchain]`):

* `openai_agents`: a sandbox client for the OpenAI Agents SDK
* `deepagents`: a sandbox backend for deepagents
* `langchain`, `llama_index`: tools
* `smolagents`: a Python executor
* `e2b`: the verbs of E2B's SDK, for programs that were written for it; needs nothing"""

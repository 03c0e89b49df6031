"""What a change costs (`cpuplan plan`): as text, as Markdown for a merge request, as JSON."""
